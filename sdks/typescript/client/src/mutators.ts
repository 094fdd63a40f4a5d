/** Mutators: named functions that change data. Only they survive a restart, because their arguments can be stored. */

import { operationsOf } from "./schema/log.js";
import type { Schema } from "./schema/schema.js";
import type { WriteTransaction } from "./transaction/types.js";

/** Checks arguments: zod's schemas fit, and so does anything else with `parse`. */
export interface Parser<Output> {
  parse(input: unknown): Output;
}

/** What callers give to a parser: the type that it says it takes (Standard Schema), or else what it makes. */
export type InputOf<P> = P extends { readonly "~standard": { readonly types?: { readonly input: infer I } | undefined } }
  ? I
  : P extends Parser<infer Output>
    ? Output
    : never;

declare const inputOf: unique symbol;

/** A function that changes data, with the arguments `Input` of its callers. */
export interface Mutator<Tx = never, Input = never> {
  /** @internal */ readonly run: (tx: Tx, args: never) => unknown;
  /** @internal */ readonly parser: Parser<unknown> | undefined;
  readonly [inputOf]?: (input: Input) => void;
}

/** Makes a mutator without checks of its arguments at run time. */
export function mutator<Tx, Input = undefined>(run: (tx: Tx, args: Input) => unknown): Mutator<Tx, Input>;
/** Makes a mutator whose arguments are checked by `parser`, when it is called and at every run. */
export function mutator<Tx, P extends Parser<unknown>>(
  parser: P,
  run: (tx: Tx, args: ReturnType<P["parse"]>) => unknown,
): Mutator<Tx, InputOf<P>>;
export function mutator(
  first: Parser<unknown> | ((tx: never, args: never) => unknown),
  second?: (tx: never, args: never) => unknown,
): Mutator {
  if (typeof first === "function") {
    return { run: first, parser: undefined };
  }
  if (second === undefined) {
    throw new TypeError("mutator(parser, run) needs a function to run");
  }
  return { run: second, parser: first };
}

export type AnyMutators<S> = { readonly [name: string]: Mutator<WriteTransaction<S>, never> };

/** An app's mutators, and the schema that they are for. */
export class Mutators<S extends Schema = Schema, M = AnyMutators<S>> {
  constructor(
    readonly schema: S,
    readonly byName: M,
  ) {}
}

/** The arguments of one mutator. */
export type ArgumentsOf<M> = M extends Mutator<never, infer Input> ? Input : never;

/** Puts an app's mutators together. Old names have to stay until no queue holds them any more. */
export function defineMutators<S extends Schema, const M extends AnyMutators<S>>(schema: S, mutators: M): Mutators<S, M> {
  const operations = operationsOf(schema.tables);
  for (const [name, { run }] of Object.entries<Partial<Mutator>>(mutators)) {
    if (operations.has(name)) {
      throw new TypeError(`mutator ${JSON.stringify(name)}: an operation of a log is called that, give the mutator another name`);
    }
    if (name.startsWith("$")) {
      throw new TypeError(`mutator ${JSON.stringify(name)}: names that begin with $ are not for apps`);
    }
    if (typeof run !== "function") {
      throw new TypeError(`mutator ${JSON.stringify(name)}: wrap its function, mutator((tx, args) => ...)`);
    }
  }
  return new Mutators(schema, mutators);
}
