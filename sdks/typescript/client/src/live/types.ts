/** Variables that are shared: cells, rows and ranges bound to names in the app, read at any time and written without a transaction. */

import type { MutationHandle, Reactive, ReactOptions, Stop } from "../client/types.js";
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
import type { CellOf, ChangesOf, RowOf } from "../schema/row.js";
import type { Schema } from "../schema/schema.js";
import type { KeyOf, LiveTable, Table } from "../schema/table.js";

/** What is bound to a part of the data. It is kept up to date while somebody listens, and for a moment after `value` was asked for. */
export interface Live<T> {
  /** What it holds; undefined while that is not known here. The same object until it changes. */
  readonly value: T | undefined;
  /** The same with how it stands. */
  readonly state: Reactive<T>;
  onChange(callback: (state: Reactive<T>) => void): Stop;
}

export interface LiveScalar<T> extends Live<T> {
  /**
   * @throws code `transaction` for what does not fit the column, `integer-range` for a number that `s.int()` cannot hold exactly; else as a call of
   * `Client.mutate`. What becomes of the write the handle says.
   */
  set(value: T): MutationHandle;
}
export interface LiveId<T> extends LiveScalar<T> {
  /** Puts a new id, which no other call makes. @throws as `LiveScalar.set`. */
  generate(): MutationHandle;
}
export interface LiveCounter<T extends number | bigint> extends Live<T> {
  /** @throws as `LiveScalar.set`. */
  set(total: T): MutationHandle;
  /** @throws as `LiveScalar.set`. */
  increment(by?: T): MutationHandle;
  /** @throws as `LiveScalar.set`. */
  decrement(by?: T): MutationHandle;
}
export interface LiveSet<T> extends Live<ReadonlySet<T>> {
  /** @throws as `LiveScalar.set`. */
  add(value: T): MutationHandle;
  /** @throws as `LiveScalar.set`. */
  delete(value: T): MutationHandle;
}
export interface LiveList<T> extends Live<readonly T[]> {
  /** @throws as `LiveScalar.set`. */
  push(value: T): MutationHandle;
  /** Replaces an element that is there. @throws as `LiveScalar.set`, and `RangeError` for an index that is no whole number from 0. */
  set(index: number, value: T): MutationHandle;
  /** A part of the list, as `Array.prototype.slice` has it: its last twenty elements are `slice(-20)`. */
  slice(from?: number, to?: number): LiveRange<T>;
}
export interface LiveRange<T> extends Live<readonly T[]> {
  /** The rows whose keys the range holds, in its order; undefined for those that are not there. @throws code `schema` if these are not keys of the table. */
  rows<R extends Table | LiveTable>(table: R): Live<readonly (RowOf<R> | undefined)[]>;
}
export interface LiveMap<T> extends Live<ReadonlyMap<string, T>> {
  /** @throws as `LiveScalar.set`, also for undefined. */
  set(key: string, value: T): MutationHandle;
  /** @throws as `LiveScalar.set`. */
  delete(key: string): MutationHandle;
}

/** A text that is typed into. Positions are of `written` at the call; an edit keeps its place, whatever others insert. */
export interface LiveText extends Live<string> {
  /**
   * The text with all that was typed here; undefined while it is not known, as for moments while a tab takes the lead, and then no edit can be made. In a tab
   * that follows another, `value` has that some milliseconds later.
   */
  readonly written: string | undefined;
  /** @throws as `splice`. */
  insert(at: number, text: string): MutationHandle;
  /** @throws as `splice`. */
  remove(at: number, length: number): MutationHandle;
  /**
   * Removes so much, and inserts a text in its place.
   *
   * @throws code `not-ready` where the text is not here yet, and while this tab takes the lead; `transaction` where its row is not there, a position is not in it,
   * or more than 256 KiB are inserted; `RangeError` for a position that is no whole number from 0; else as a call of `Client.mutate`.
   */
  splice(at: number, removed: number, text: string): MutationHandle;
}

/** One cell. */
export type LiveCell<C> = C extends ScalarColumn<Id>
  ? LiveId<CellOf<C>>
  : C extends ScalarColumn | RegisterColumn
    ? LiveScalar<CellOf<C>>
    : C extends CounterColumn<infer T>
      ? LiveCounter<T>
      : C extends SetColumn<infer T>
        ? LiveSet<T>
        : C extends ListColumn<infer T>
          ? LiveList<T>
          : C extends MapColumn<infer T>
            ? LiveMap<T>
            : C extends TextColumn
              ? LiveText
              : never;

/** One cell of a table that merges: a scalar is given at insert and stays, and a counter is only added to. */
export type LiveMergeCell<C> =
  C extends ScalarColumn ? Live<CellOf<C>> : C extends CounterColumn<infer T> ? Omit<LiveCounter<T>, "set"> : LiveCell<C>;

/** A row as an object: its columns are its members. */
export type LiveRow<T> =
  T extends Table<infer C, infer K, infer P>
    ? { readonly [N in Exclude<keyof C, K[number]>]: [P] extends ["merging"] ? LiveMergeCell<C[N]> : LiveCell<C[N]> } & { readonly self: LiveSelf<T> }
    : never;

/** A row as a whole. */
export interface LiveSelf<T> extends Live<RowOf<T> | undefined> {
  /** Puts some of its scalars and registers, in one transaction. @throws as `LiveScalar.set`. */
  update(changes: ChangesOf<T>): MutationHandle;
}

export type LiveOf<T> = T extends LiveTable<infer C extends Column, unknown> ? LiveCell<C> : LiveRow<T>;

/** Binds a row: `db.live.notes(id).votes.increment()`; of a live table its value: `db.live.hits("home").value`. @throws code `transaction` for what is no key of the table. */
export type LiveTables<S> =
  S extends Schema<infer T> ? { readonly [N in keyof T]: (key: KeyOf<T[N]>, options?: ReactOptions) => LiveOf<T[N]> } : never;
