/** Tables: columns under a primary key. */

import { SchemaError } from "../errors.js";
import type { Id } from "../id.js";
import type { LogDefinition } from "./log.js";
import { type ManualOptions, type MergeOptions, onConflictOf } from "./merging.js";
import {
  type Column,
  type CounterColumn,
  type ListColumn,
  type MapColumn,
  type RegisterColumn,
  s,
  type ScalarColumn,
  type SetColumn,
  type TextColumn,
  type ValueOf,
} from "./column.js";

/** The columns of a table by name. */
export type Columns = { readonly [name: string]: Column };

type KeyColumnName<C extends Columns> = {
  [N in keyof C]: C[N] extends ScalarColumn<boolean | number | bigint | string | Uint8Array | Id, "required"> ? N : never;
}[keyof C] &
  string;

/** The primary key that a table has when none is named: its column `id`. */
export type DefaultKey<C extends Columns> = "id" extends KeyColumnName<C> ? readonly ["id"] : readonly [];

/** How transactions on a table are kept apart; docs/protocols/operations.md says what each promises. */
export type Isolation = "strict-serializable" | "snapshot" | "read-committed";

type IndexColumnName<C extends Columns> = {
  [N in keyof C]: C[N] extends ScalarColumn | RegisterColumn | CounterColumn ? N : never;
}[keyof C] &
  string;

/** Secondary indexes by name, each with its columns in order. */
export type Indexes = { readonly [name: string]: readonly string[] };

/** How a table's mutations are committed: docs/sync.md. `merging`: causal, and conflicts end by the types of the columns. */
export type Consistency = "strong" | "eventual" | "causal" | "merging";

export interface TablePolicy {
  readonly isolation: Isolation;
  /** What a mutation does while there is no connection. */
  readonly offline: "queue" | "refuse";
  /** Whether a client is told when everybody who follows its changes has applied them: for the view `delivered`. */
  readonly delivered: boolean;
  /** @internal */ readonly consistency?: "eventual" | "causal";
  /** @internal */ readonly onConflict?: "manual" | "merge";
  /** @internal The log that it is a variable of. */ readonly log?: LogDefinition;
}

const STRICT: TablePolicy = { isolation: "strict-serializable", offline: "queue", delivered: false };

declare const consistencyOf: unique symbol;

/** A table of rows that are inserted and deleted. Make one with `table()`. */
export class Table<C extends Columns = Columns, K extends readonly string[] = readonly string[], P extends Consistency = Consistency> {
  declare readonly kind: "table";
  declare readonly [consistencyOf]: P;

  constructor(
    readonly columns: C,
    readonly keyColumns: K,
    readonly policy: TablePolicy,
    readonly indexes: Indexes = {},
  ) {}

  /** The columns of the primary key, in order. Without this it is the column `id`. */
  key<const N extends readonly KeyColumnName<C>[]>(...names: N): Table<C, N, P> {
    return new Table(this.columns, names, this.policy, this.indexes);
  }

  /** How transactions are kept apart: strictly serializable unless this says less. One that touches several tables is kept apart as the strictest of them asks. */
  isolation(isolation: Isolation): Table<C, K, P> {
    return new Table(this.columns, this.keyColumns, { ...this.policy, isolation }, this.indexes);
  }

  /** Whether mutations wait for a connection in the durable queue (the default) or are refused without one. */
  offline(offline: "queue" | "refuse"): Table<C, K, P> {
    return new Table(this.columns, this.keyColumns, { ...this.policy, offline }, this.indexes);
  }

  /** Tells a client when everybody who follows its changes has applied them: for the view `delivered`, and `until("delivered")` of a mutation. */
  delivered(): Table<C, K, P> {
    return new Table(this.columns, this.keyColumns, { ...this.policy, delivered: true }, this.indexes);
  }

  /** Written offline too. Of two who write a column unseen by each other, the later write stands; an update of a row that was deleted meanwhile is refused and told. */
  eventual(): Table<C, K, "eventual"> {
    return new Table(this.columns, this.keyColumns, { ...this.policy, consistency: "eventual" }, this.indexes);
  }

  /** Written offline too. Two who write a row unseen by each other are in conflict, which the app is shown and resolves: `db.conflicts`. */
  causal(options: ManualOptions): Table<C, K, "causal">;
  /**
   * Written offline too, and never in conflict: what two did unseen by each other is merged by the types of the columns. Counters add up, of a register the last
   * value stays, and of a set what was added. A row that was deleted and updated at once comes back whole. Scalars are given at insert, and stay.
   */
  causal(options?: MergeOptions): Table<C, K, "merging">;
  causal(options: ManualOptions | MergeOptions = {}): Table<C, K, "causal" | "merging"> {
    const policy = { ...this.policy, consistency: "causal", onConflict: onConflictOf(options) } as const;
    return new Table(this.columns, this.keyColumns, policy, this.indexes);
  }

  /** A secondary index, by which queries find rows and put them in order: by the first of these columns, then by the next. */
  index<const N extends readonly [IndexColumnName<C>, ...IndexColumnName<C>[]]>(name: string, columns: N): Table<C, K, P> {
    if (Object.hasOwn(this.indexes, name)) {
      throw new SchemaError(`there are two indexes ${JSON.stringify(name)}: give one of them another name`);
    }
    return new Table(this.columns, this.keyColumns, this.policy, { ...this.indexes, [name]: columns });
  }
}

/** A table whose rows exist without being inserted: one data type under a key. Make one with `live()`. */
export class LiveTable<C extends Column = Column, K = unknown> {
  declare readonly kind: "live";

  constructor(
    readonly value: C,
    readonly keyColumn: ScalarColumn<K, "required">,
    readonly policy: TablePolicy = STRICT,
  ) {}
}

export type AnyTable = Table | LiveTable;

/** A table of rows. Its primary key is the column `id` unless `.key(...)` says otherwise. */
export function table<C extends Columns>(columns: C): Table<C, DefaultKey<C>, "strong"> {
  const key = "id" in columns ? ["id"] : [];
  return new Table(columns, key as unknown as DefaultKey<C>, STRICT);
}

type LiveColumn =
  | ScalarColumn<unknown, "optional" | "defaulted">
  | RegisterColumn<unknown, "optional" | "defaulted">
  | CounterColumn
  | SetColumn
  | ListColumn
  | MapColumn
  | TextColumn;

/** A bare data type under a key, which is a string unless `options.key` says otherwise. Every key is there from the start. */
export function live<C extends LiveColumn>(value: C, options?: Partial<TablePolicy>): LiveTable<C, string>;
export function live<C extends LiveColumn, K>(
  value: C,
  options: Partial<TablePolicy> & { readonly key: ScalarColumn<K, "required"> },
): LiveTable<C, K>;
export function live(value: Column, options: Partial<TablePolicy> & { readonly key?: ScalarColumn<unknown, "required"> } = {}): LiveTable {
  const { key = s.string(), ...policy } = options;
  const unknown = Object.keys(policy).find((name) => !LIVE_OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new SchemaError(`live has no option ${JSON.stringify(unknown)}: there are key, ${LIVE_OPTIONS.join(", ")}`);
  }
  return new LiveTable(value, key, { ...STRICT, ...policy });
}

const LIVE_OPTIONS = ["isolation", "offline", "delivered", "log"];

/** The names of a live table's two columns, on the server and in other languages. */
export const LIVE_KEY = "key";
export const LIVE_VALUE = "value";

type KeyTuple<C extends Columns, K extends readonly string[]> = {
  readonly [I in keyof K]: K[I] extends keyof C ? ValueOf<C[K[I]]> : never;
};

/** How a row is named: the value of the key's only column, or all of them in an array. */
export type KeyOf<T> =
  T extends LiveTable<Column, infer K>
    ? K
    : T extends Table<infer C, infer K>
      ? K extends readonly [infer Only extends keyof C]
        ? ValueOf<C[Only]>
        : KeyTuple<C, K>
      : never;

type Beginnings<T extends readonly unknown[]> = T extends readonly [...infer Rest, unknown]
  ? T | Beginnings<Rest>
  : readonly [];

/** The first values of a key, for ranges. */
export type KeyPrefixOf<T> =
  T extends LiveTable<Column, infer K>
    ? readonly [] | readonly [K]
    : T extends Table<infer C, infer K>
      ? Readonly<Beginnings<KeyTuple<C, K>>>
      : never;

type Rest<T> = T extends readonly [unknown, ...infer Others] ? Readonly<Others> : readonly [];

type ValuesOfKey<T> =
  T extends LiveTable<Column, infer K> ? readonly [K] : T extends Table<infer C, infer K> ? KeyTuple<C, K> : never;

/** How an operation of a log names a row: its first key column, which is the instance's, may be left out. */
export type KeyInLogOf<T> = KeyOf<T> | Rest<ValuesOfKey<T>>;

/** The first values of a key behind the instance's, for ranges in an operation. */
export type PrefixInLogOf<T> = Readonly<Beginnings<Rest<ValuesOfKey<T>>>>;
