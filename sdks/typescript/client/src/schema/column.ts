/** Columns: what a row holds under a name. */

import type { BlobValue } from "../blob/value.js";
import { SchemaError } from "../errors.js";
import type { Id } from "../id.js";

export type ScalarName = "bool" | "int" | "float" | "string" | "bytes" | "id" | "blob";

/** Whether a value has to be given when a row is inserted, and of those that may be left out, whether they may be null. */
export type Presence = "required" | "defaulted" | "optional";

/** Of a column that is given a default: it may be null still, if it might before. */
type WithDefault<P extends Presence> = P extends "optional" ? "optional" : "defaulted";

/** How values of a column look in JavaScript; `int64` is the column type int with bigints instead of numbers. */
export type Shape = "plain" | "bigint";

/** One column as the canonical JSON says it. */
export interface ColumnJson {
  readonly default?: unknown;
  readonly fetch?: "on-demand";
  readonly of?: ScalarName;
  readonly optional?: true;
  readonly order?: "strict" | "commit";
  readonly type: ScalarName | "register" | "counter" | "set" | "list" | "map" | "text";
}

declare const valueOf: unique symbol;
declare const presenceOf: unique symbol;

/** A column of values of type `T`. */
export abstract class Column<T = unknown> {
  declare readonly [valueOf]: T;

  constructor(
    /** @internal */ readonly json: ColumnJson,
    /** @internal */ readonly shape: Shape,
  ) {}
}

/** One value; writers of the same one conflict, and one of them runs again. */
export class ScalarColumn<T = unknown, P extends Presence = Presence> extends Column<T> {
  declare readonly [presenceOf]: P;
  declare readonly kind: "scalar";

  /** May be null, and is when not given, unless it has a default. */
  optional(): ScalarColumn<T, "optional"> {
    return new ScalarColumn({ ...this.json, optional: true }, this.shape);
  }

  /** What it holds when not given. */
  default(value: T): ScalarColumn<T, WithDefault<P>> {
    return new ScalarColumn({ ...this.json, default: value }, this.shape);
  }
}

/** One value; the last writer wins, and nobody conflicts. */
export class RegisterColumn<T = unknown, P extends Presence = Presence> extends Column<T> {
  declare readonly [presenceOf]: P;
  declare readonly kind: "register";

  /** May be null, and is when not given, unless it has a default. */
  optional(): RegisterColumn<T, "optional"> {
    return new RegisterColumn({ ...this.json, optional: true }, this.shape);
  }

  /** What it holds when not given. */
  default(value: T): RegisterColumn<T, WithDefault<P>> {
    return new RegisterColumn({ ...this.json, default: value }, this.shape);
  }
}

/** A number that is changed by increments, which never conflict with each other. */
export class CounterColumn<T extends number | bigint = number | bigint> extends Column<T> {
  declare readonly kind: "counter";
}

/** A set of values; additions and removals of different values never conflict. */
export class SetColumn<T = unknown> extends Column<T> {
  declare readonly kind: "set";
}

/** A list that only grows; its elements may be replaced. */
export class ListColumn<T = unknown> extends Column<T> {
  declare readonly kind: "list";
}

/** A map from strings; changes of different entries never conflict. */
export class MapColumn<T = unknown> extends Column<T> {
  declare readonly kind: "map";
}

/** What several people write at once; edits of different places, and of the same, never conflict. */
export class TextColumn extends Column<string> {
  declare readonly kind: "text";
}

/** The type of a column's values. */
export type ValueOf<C> = C extends Column<infer T> ? T : never;

function scalar<T>(type: ScalarName, shape: Shape = "plain"): ScalarColumn<T, "required"> {
  return new ScalarColumn({ type }, shape);
}

export interface ListOptions {
  /** `strict`: appends conflict and stand in real-time order. `commit`: they never conflict and stand in commit order. */
  readonly order?: "strict" | "commit";
}

export interface SetOptions {
  /** An addition stays if there was a removal at once, in a causal table that merges. */
  readonly wins?: "adds" | undefined;
}

export interface BlobOptions {
  /** `with-row`: its content is fetched as soon as the row is here. `on-demand`: when it is read. */
  readonly fetch?: "with-row" | "on-demand";
}

/** The column types. */
export const s = {
  bool: (): ScalarColumn<boolean, "required"> => scalar("bool"),
  /** A whole number between -(2^53 - 1) and 2^53 - 1; past that it is an error, so use `s.int64()`. */
  int: (): ScalarColumn<number, "required"> => scalar("int"),
  /** The same column type as `s.int()`, as bigints. */
  int64: (): ScalarColumn<bigint, "required"> => scalar("int", "bigint"),
  /** Any number but NaN. */
  float: (): ScalarColumn<number, "required"> => scalar("float"),
  string: (): ScalarColumn<string, "required"> => scalar("string"),
  bytes: (): ScalarColumn<Uint8Array, "required"> => scalar("bytes"),
  id: (): ScalarColumn<Id, "required"> => scalar("id"),
  /** Large content, in no key, index, condition, default or collection. For now of at most 4 KiB: see `blobOf()`. */
  blob: (options: BlobOptions = {}): ScalarColumn<BlobValue, "required"> =>
    new ScalarColumn(options.fetch === "on-demand" ? { fetch: "on-demand", type: "blob" } : { type: "blob" }, "plain"),
  counter: (): CounterColumn<number> => new CounterColumn({ type: "counter" }, "plain"),
  /** A counter whose total is a bigint. */
  counter64: (): CounterColumn<bigint> => new CounterColumn({ type: "counter" }, "bigint"),
  register: <T>(of: ScalarColumn<T, "required">): RegisterColumn<T, "required"> =>
    new RegisterColumn({ of: elementOf(of), type: "register" }, of.shape),
  set: <T>(of: ScalarColumn<T, "required">, options: SetOptions = {}): SetColumn<T> => {
    checkWins(options.wins);
    return new SetColumn({ of: elementOf(of), type: "set" }, of.shape);
  },
  list: <T>(of: ScalarColumn<T, "required">, options: ListOptions = {}): ListColumn<T> =>
    new ListColumn({ of: elementOf(of), order: options.order ?? "strict", type: "list" }, of.shape),
  map: <T>(of: ScalarColumn<T, "required">): MapColumn<T> => new MapColumn({ of: elementOf(of), type: "map" }, of.shape),
  /** Collaborative text. */
  text: (): TextColumn => new TextColumn({ type: "text" }, "plain"),
} as const;

function checkWins(wins: unknown): void {
  if (wins === "removes") {
    throw new SchemaError("sets where removes win are not built yet: leave out wins, and adds win");
  }
  if (wins !== undefined && wins !== "adds") {
    throw new SchemaError(`wins is adds, not ${JSON.stringify(wins)}`);
  }
}

function elementOf(column: ScalarColumn<unknown, "required">): ScalarName {
  const { type } = column.json;
  return type as ScalarName;
}
