/**
 * One run of a closure: all its calls of the core go through here.
 *
 * Invariant: after the closure has ended nothing it kept can reach the core, so a late call never lands in another run.
 */

import { IntegerRangeError, IoliteError, SchemaError, Stopped, TransactionError } from "../errors.js";
import type { Core } from "../wasm/iolite_wasm.js";

/** The calls of the core that are part of a transaction. */
type CallName =
  | "add"
  | "ask"
  | "base"
  | "callTime"
  | "cell"
  | "contains"
  | "delete"
  | "element"
  | "elements"
  | "entry"
  | "has"
  | "insert"
  | "instance"
  | "memberAt"
  | "newId"
  | "push"
  | "put"
  | "putTotal"
  | "random"
  | "range"
  | "row"
  | "rows"
  | "setElement"
  | "setEntry"
  | "setMember"
  | "splice"
  | "textLength"
  | "version";

/** What a closure asked of the core, to compare two runs. */
export type Trace = readonly (readonly unknown[])[];

export class Scope {
  #core: Core | undefined;
  readonly #trace: unknown[][] | undefined;

  constructor(core: Core, options: { readonly traced: boolean }) {
    this.#core = core;
    this.#trace = options.traced ? [] : undefined;
  }

  /** Whether mistakes are looked for, at some cost. */
  get isChecked(): boolean {
    return this.#trace !== undefined;
  }

  call<N extends CallName>(name: N, ...args: Parameters<Core[N]>): ReturnType<Core[N]> {
    const core = this.#core;
    if (core === undefined) {
      throw new TransactionError("the closure has ended: use its transaction only while it runs");
    }
    this.#trace?.push([name, ...args]);
    const call = core[name] as (...args: Parameters<Core[N]>) => ReturnType<Core[N]>;
    try {
      return call.apply(core, args);
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }

  /** Ends the run. */
  end(): Trace {
    this.#core = undefined;
    return this.#trace ?? [];
  }
}

/** The core throws a text of a code and a message. */
export function errorOf(thrown: unknown): unknown {
  if (typeof thrown !== "string") {
    return thrown;
  }
  const end = thrown.indexOf("\n");
  const [code, message] = [thrown.slice(0, end), thrown.slice(end + 1)];
  switch (code) {
    case "stopped":
      return new Stopped();
    case "integer-range":
      return new IntegerRangeError(message);
    case "schema":
      return new SchemaError(message);
    case "transaction":
      return new TransactionError(message);
    case "storage":
    case "offline":
    case "call":
    case "not-ready":
    case "not-held":
      return new IoliteError(code, message);
    default:
      return new Error(thrown);
  }
}
