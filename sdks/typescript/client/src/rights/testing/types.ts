/** Rows, changes and deeds of tests of rights, typed from the schema. */

import type { CounterColumn, ListColumn, MapColumn, RegisterColumn, ScalarColumn, SetColumn, TextColumn } from "../../schema/column.js";
import type { CellOf, InitialOf, NewRowOf } from "../../schema/row.js";
import type { Tables } from "../../schema/schema.js";
import type { Columns, KeyOf, LiveTable, Table } from "../../schema/table.js";

/** A row as an insertion takes it: what is optional, has a default or begins empty may be left out. A row of a live table is its key and its value. */
export type GivenRow<T> = T extends LiveTable<infer C, infer K> ? { readonly key: K; readonly value: InitialOf<C> } : NewRowOf<T>;

/** The rows of a test, by table. */
export type Given<T extends Tables> = { readonly [N in keyof T]?: Iterable<GivenRow<T[N]>> };

/** A change of a column: its new value, or an operation as rights name it. */
export type Change<C> = C extends ScalarColumn | RegisterColumn
  ? CellOf<C>
  : C extends CounterColumn<infer T>
    ? T | { readonly add: T }
    : C extends SetColumn<infer T>
      ? { readonly insert: T } | { readonly remove: T }
      : C extends ListColumn<infer T>
        ? { readonly append: T } | { readonly setAt: readonly [number, T] }
        : C extends MapColumn<infer T>
          ? { readonly putEntry: readonly [string, T] } | { readonly removeEntry: string }
          : C extends TextColumn
            ? { readonly edit: string }
            : never;

type ChangesOf<C extends Columns, K extends string> = { readonly [N in Exclude<keyof C, K>]?: Change<C[N]> | readonly Change<C[N]>[] };

/** The changes of an update: of each column a value, an operation, or several of these in an array. A live table's column is `value`. */
export type ChangesIn<T> =
  T extends LiveTable<infer C, unknown> ? { readonly value: Change<C> | readonly Change<C>[] } : T extends Table<infer C, infer K> ? ChangesOf<C, K[number]> : never;

/** One of several things that a mutation does. */
export type Deed<T extends Tables> = {
  readonly [N in keyof T & string]:
    | readonly [deed: "create", table: N, row: GivenRow<T[N]>]
    | readonly [deed: "update", table: N, key: KeyOf<T[N]>, changes: ChangesIn<T[N]>]
    | readonly [deed: "delete", table: N, key: KeyOf<T[N]>];
}[keyof T & string];
