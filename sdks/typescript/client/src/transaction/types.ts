/** What a closure gets: tables to read and write, typed from the schema. */

import type { Id } from "../id.js";
import type {
  Column,
  CounterColumn,
  ListColumn,
  MapColumn,
  RegisterColumn,
  ScalarColumn,
  SetColumn,
  TextColumn,
} from "../schema/column.js";
import type { InstanceOf } from "../schema/log.js";
import type { CellOf, ChangesOf, NewRowOf, RowOf } from "../schema/row.js";
import type { Schema, Tables } from "../schema/schema.js";
import type { KeyInLogOf, KeyOf, KeyPrefixOf, LiveTable, PrefixInLogOf, Table } from "../schema/table.js";
import type { Query } from "./query.js";

/**
 * Which rows to read, in the order of their keys: those that are within all bounds. A bound is the first values of a key, in an array. An option that is
 * undefined or misspelt is refused.
 */
export interface RangeOptions<T> {
  /** Rows whose key begins with these values. */
  readonly prefix?: KeyPrefixOf<T>;
  /** Rows from here on, included. */
  readonly from?: KeyPrefixOf<T>;
  /** Rows behind those whose key begins with these values: what comes after the last row of a page. */
  readonly after?: KeyPrefixOf<T>;
  /** Rows up to here, not included. */
  readonly to?: KeyPrefixOf<T>;
  /** At most this many: no more are fetched, but for some to spare. A limit that grows fetches what is missing. */
  readonly limit?: number;
  /** From the end to the beginning. */
  readonly reverse?: boolean;
}

export interface ReadScalar<T> {
  get(): T;
}
export interface WriteScalar<T> extends ReadScalar<T> {
  set(value: T): void;
}
/** A cell of ids. */
export interface WriteId<T> extends WriteScalar<T> {
  /** Puts a new id, which no other call makes, and returns it. */
  generate(): Id;
}
export interface ReadCounter<T extends number | bigint> {
  get(): T;
}
export interface WriteCounter<T extends number | bigint> extends ReadCounter<T> {
  /** Gives it a total, whatever was added before. Conflicts with increments, which do not with each other. */
  set(total: T): void;
  increment(by?: T): void;
  decrement(by?: T): void;
}
export interface ReadSet<T> {
  get(): ReadonlySet<T>;
  /** Conflicts only with changes of this value. */
  has(value: T): boolean;
  /** The member at a place in their order, from the end if it is negative. Conflicts only with changes of it and of what comes before it. */
  at(index: number): T | undefined;
  readonly size: number;
}
export interface WriteSet<T> extends ReadSet<T> {
  add(value: T): void;
  delete(value: T): void;
}
export interface ReadList<T> {
  get(): readonly T[];
  toArray(): readonly T[];
  /** The element at an index, from the end if it is negative. Conflicts only with changes of this element, unless it is counted from the end or past it. */
  at(index: number): T | undefined;
  /** As `Array.prototype.slice`. Conflicts only with changes of these elements, unless one bound is missing, negative or past the end. */
  slice(from?: number, to?: number): readonly T[];
  readonly length: number;
}
export interface WriteList<T> extends ReadList<T> {
  push(value: T): void;
  /** Replaces an element that is there. */
  set(index: number, value: T): void;
}
export interface ReadMap<T> {
  get(): ReadonlyMap<string, T>;
  /** Conflicts only with changes of this entry. */
  get(key: string): T | undefined;
  has(key: string): boolean;
}
export interface WriteMap<T> extends ReadMap<T> {
  set(key: string, value: T): void;
  delete(key: string): void;
}

/** A text. Lengths and positions are those of JavaScript's strings. */
export interface ReadText {
  get(): string;
  readonly length: number;
}
/** Positions are of the text as this run of the closure sees it. An edit keeps its place, whatever others insert. */
export interface WriteText extends ReadText {
  insert(at: number, text: string): void;
  remove(at: number, length: number): void;
  /** Removes so much, and inserts a text in its place. */
  splice(at: number, removed: number, text: string): void;
}

/** One cell, to read. Reading it conflicts only with changes of this cell. */
export type ReadRef<C> = C extends ScalarColumn<Id>
  ? ReadScalar<CellOf<C>>
  : C extends ScalarColumn | RegisterColumn
  ? ReadScalar<CellOf<C>>
  : C extends CounterColumn<infer T>
    ? ReadCounter<T>
    : C extends SetColumn<infer T>
      ? ReadSet<T>
      : C extends ListColumn<infer T>
        ? ReadList<T>
        : C extends MapColumn<infer T>
          ? ReadMap<T>
          : C extends TextColumn
            ? ReadText
            : never;

/** One cell, to read and write. */
export type WriteRef<C> = C extends ScalarColumn<Id>
  ? WriteId<CellOf<C>>
  : C extends ScalarColumn | RegisterColumn
  ? WriteScalar<CellOf<C>>
  : C extends CounterColumn<infer T>
    ? WriteCounter<T>
    : C extends SetColumn<infer T>
      ? WriteSet<T>
      : C extends ListColumn<infer T>
        ? WriteList<T>
        : C extends MapColumn<infer T>
          ? WriteMap<T>
          : C extends TextColumn
            ? WriteText
            : never;

/** One cell of a table that merges, to read and write: a scalar is given at insert and stays, and a counter is only added to. */
export type MergeRef<C> = C extends ScalarColumn ? ReadRef<C> : C extends CounterColumn<infer T> ? Omit<WriteCounter<T>, "set"> : WriteRef<C>;

export type ReadRefs<T> =
  T extends LiveTable<infer C, unknown>
    ? ReadRef<C>
    : T extends Table<infer C, infer K>
      ? { readonly [N in Exclude<keyof C, K[number]>]: ReadRef<C[N]> }
      : never;

export type WriteRefs<T> =
  T extends LiveTable<infer C, unknown>
    ? WriteRef<C>
    : T extends Table<infer C, infer K, infer P>
      ? { readonly [N in Exclude<keyof C, K[number]>]: [P] extends ["merging"] ? MergeRef<C[N]> : WriteRef<C[N]> }
      : never;

export interface ReadTable<T> {
  /** The row, or undefined if there is none. Conflicts with every change of the row: for single cells use `ref`. */
  get(key: KeyOf<T>): RowOf<T> | undefined;
  /** Several rows, in the order of their keys here. What is not on this device is fetched in one round, not row by row. */
  getAll(keys: Iterable<KeyOf<T>>): readonly (RowOf<T> | undefined)[];
  /** Whether the row is there. */
  has(key: KeyOf<T>): boolean;
  /** Rows in the order of their keys. @throws code `transaction` for bounds that are no beginning of a key, `RangeError` for a limit that is no whole number from 0. */
  range(options?: RangeOptions<T>): readonly RangeRowOf<T>[];
  /** The row's cells, one by one. Nothing is read before one of them is asked. */
  ref(key: KeyOf<T>): ReadRefs<T>;
  /** The version of a row of a table that syncs, to be kept beside what the user sees; undefined if there is no such row. See `update`. */
  version(key: KeyOf<T>): RowVersion | undefined;
}

/** Names what a row holds. Two rows have one version exactly if they hold the same. Do not look inside. */
export type RowVersion = string;

export interface WriteOptions {
  /** The version of the row of a causal table that the user saw. If the server's row is another, it is a conflict, also if this device has that row already. Without it the user saw the row as it is when the call runs. */
  readonly base?: RowVersion;
}

/** What a range gives: rows; for a live table, keys with values. */
export type RangeRowOf<T> = T extends LiveTable<Column, infer K> ? { readonly key: K; readonly value: RowOf<T> } : RowOf<T>;

/** Queries of a table of rows. */
export type Queries<T> = Pick<Query<T>, "where" | "whereAny" | "orderBy">;

export interface WriteLiveTable<T> extends ReadTable<T> {
  ref(key: KeyOf<T>): WriteRefs<T>;
}

export interface WriteTable<T> extends ReadTable<T>, Queries<T> {
  /** Makes a row; it is an error if it is there. Where nothing is known of the key here, it is taken to be free, and that is seen to when the mutation is sent. */
  insert(row: NewRowOf<T>): void;
  /** Puts some of the scalars and registers of a row that is there; in a table that merges, registers only. Columns that are undefined stay as they are. */
  update(key: KeyOf<T>, changes: ChangesOf<T>, options?: WriteOptions): void;
  /** Deletes a row that is there. */
  delete(key: KeyOf<T>, options?: WriteOptions): void;
  ref(key: KeyOf<T>): WriteRefs<T>;
}

/** Only reads. A closure that gets it runs again whenever something that it read has changed. */
export type ReadTransaction<S> =
  S extends Schema<infer T> ? { readonly [N in keyof T]: T[N] extends LiveTable ? ReadTable<T[N]> : ReadTable<T[N]> & Queries<T[N]> } : never;

/** What a mutation knows about its call. */
export interface CallContext {
  /** When the mutation was called, in milliseconds since 1970: the same at every run. For people, not for ordering. */
  now(): number;
  /** A new id: the same at every run. */
  newId(): Id;
  /** A number from 0 up to 1, not included: the same at every run. */
  random(): number;
}

/** Reads and writes. Its writes take effect together or not at all, and its own later reads see them. */
export type WriteTransaction<S> =
  S extends Schema<infer T>
    ? {
        readonly [N in keyof T]: T[N] extends LiveTable ? WriteLiveTable<T[N]> : WriteTable<T[N]>;
      } & CallContext
    : never;

/** Bounds of a range in an operation: without the first key column, which is the instance's. */
export type RangeInLog<T> = Omit<RangeOptions<T>, "prefix" | "from" | "after" | "to"> & {
  readonly [N in "prefix" | "from" | "after" | "to"]?: PrefixInLogOf<T>;
};

/** A row in an operation: its first key column may be left out, which is the instance's. */
export type NewRowInLogOf<T> =
  T extends Table<infer _, infer K> ? Omit<NewRowOf<T>, K[0] & string> & Partial<Pick<NewRowOf<T>, K[0] & keyof NewRowOf<T>>> : never;

/** Reads of a log's table in an operation. A key may leave out its first column, which is the instance's. */
export interface ReadTableInLog<T> {
  get(key: KeyInLogOf<T>): RowOf<T> | undefined;
  getAll(keys: Iterable<KeyInLogOf<T>>): readonly (RowOf<T> | undefined)[];
  has(key: KeyInLogOf<T>): boolean;
  /** Rows of the instance in the order of their keys. The bounds leave the first key column out. */
  range(options?: RangeInLog<T>): readonly RangeRowOf<T>[];
}

export interface LiveTableInLog<T> extends ReadTableInLog<T> {
  ref(key: KeyInLogOf<T>): WriteRefs<T>;
}

/** A log's table in an operation. It has no queries yet: `range` finds rows. */
export interface TableInLog<T> extends ReadTableInLog<T> {
  /** Makes a row; it is an error if it is there. */
  insert(row: NewRowInLogOf<T>): void;
  /** Makes a row, or puts the scalars and registers that are given into the row that is there. Columns that are undefined stay as they are. */
  put(row: NewRowInLogOf<T>): void;
  /** Puts some of the scalars and registers of a row that is there. Columns that are undefined stay as they are. */
  update(key: KeyInLogOf<T>, changes: ChangesOf<T>): void;
  /** Deletes a row that is there. */
  delete(key: KeyInLogOf<T>): void;
  ref(key: KeyInLogOf<T>): WriteRefs<T>;
}

/** The transaction of an operation: the tables of its log, as those of one instance. */
export type LogTransaction<T extends Tables> = {
  readonly [N in keyof T]: T[N] extends LiveTable ? LiveTableInLog<T[N]> : TableInLog<T[N]>;
} & CallContext & {
    /** The instance that the operation runs for: the first key column of its rows. */
    readonly instance: InstanceOf<T>;
  };
