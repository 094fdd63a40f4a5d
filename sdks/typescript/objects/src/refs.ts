/**
 * References to objects, wherever those are.
 *
 * Invariant: a reference has no state beside the name of its object, where it was seen, and the host that carries its calls.
 */

import type { Place } from "./runs.js";

/** The methods that callers see: all that are public, but those whose names begin with `_`. */
export type MethodName<T> = {
  [K in keyof T & string]: T[K] extends (...args: never) => unknown ? (K extends `_${string}` ? never : K) : never;
}[keyof T & string];

/**
 * A reference to an object of the class `T`. Each method returns a promise, and rejects with `CallError`. Fields cannot be used: the compiler shows them as
 * `unknown`. To leave them out it would have to look into a class that keeps references to its own kind, and it gives up on that.
 */
export type Ref<T> = RefName & {
  readonly [K in keyof T as K extends `_${string}` ? never : K]: T[K] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<AnswerOf<Result>>
    : unknown;
};

/** The value that a promise of a result holds. References come first: the compiler would look for `then` in all of their methods. */
type AnswerOf<Result> = Result extends RefName ? Result : Result extends PromiseLike<infer Value> ? Value : Result;

export interface RefName {
  readonly className: string;
  readonly id: string;
}

/** Carries the calls of references. */
export interface Caller {
  call(target: RefTarget, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Says something to a manager of the object. */
  manage(target: RefTarget, manager: string, word: string): Promise<unknown>;
}

/** The parts of a reference. */
export interface RefTarget extends RefName {
  readonly caller: Caller;
  /** Where the method that sees the reference runs. None: it was given to the app by its host. */
  readonly place: Place | undefined;
}

const targets = new WeakMap<object, RefTarget>();

/** The target of a value that is a reference. */
export function refTargetOf(value: object): RefTarget | undefined {
  return targets.get(value);
}

/** Names that a method cannot have: references have them, or JavaScript asks for them. */
export const NO_METHODS: readonly string[] = ["className", "id", "then", "toJSON", ...Object.getOwnPropertyNames(Object.prototype)];

/** Any other name is a method: whether there is one is known where the object is. */
export function makeRef(target: RefTarget): object {
  const { className, id } = target;
  const ref = new Proxy(Object.freeze({ className, id }), new RefHandler(target));
  targets.set(ref, target);
  return ref;
}

class RefHandler implements ProxyHandler<RefName> {
  readonly #methods = new Map<string, (...args: unknown[]) => Promise<unknown>>();

  constructor(readonly target: RefTarget) {}

  get(own: RefName, name: string | symbol): unknown {
    if (typeof name === "symbol" || NO_METHODS.includes(name)) {
      return Reflect.get(own, name);
    }
    let method = this.#methods.get(name);
    if (method === undefined) {
      const { target } = this;
      method = (...args) => target.caller.call(target, name, args);
      this.#methods.set(name, method);
    }
    return method;
  }
}
