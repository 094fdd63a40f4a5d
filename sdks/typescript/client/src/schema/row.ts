/** Rows: what is read from a table, and what is given to it. */

import type {
  CounterColumn,
  ListColumn,
  MapColumn,
  RegisterColumn,
  ScalarColumn,
  SetColumn,
  TextColumn,
  ValueOf,
} from "./column.js";
import type { Columns, Consistency, LiveTable, Table } from "./table.js";

/** What a column's cell reads as. */
export type CellOf<C> =
  C extends ScalarColumn<infer T, infer P>
    ? P extends "optional"
      ? T | null
      : T
    : C extends RegisterColumn<infer T, infer P>
      ? P extends "optional"
        ? T | null
        : T
      : C extends CounterColumn<infer T>
        ? T
        : C extends SetColumn<infer T>
          ? ReadonlySet<T>
          : C extends ListColumn<infer T>
            ? readonly T[]
            : C extends MapColumn<infer T>
              ? ReadonlyMap<string, T>
              : C extends TextColumn
                ? string
                : never;

/** A row with all its columns. A live table's row is its value. */
export type RowOf<T> =
  T extends LiveTable<infer C, unknown>
    ? CellOf<C>
    : T extends Table<infer C, readonly string[]>
      ? { readonly [N in keyof C]: CellOf<C[N]> }
      : never;

/** The first content of a cell. */
export type InitialOf<C> =
  C extends ScalarColumn | RegisterColumn
    ? CellOf<C>
    : C extends CounterColumn<infer T>
      ? T
      : C extends SetColumn<infer T> | ListColumn<infer T>
        ? Iterable<T>
        : C extends MapColumn<infer T>
          ? ReadonlyMap<string, T> | { readonly [key: string]: T }
          : C extends TextColumn
            ? string
            : never;

type RequiredName<C extends Columns> = {
  [N in keyof C]: C[N] extends ScalarColumn<unknown, "required"> | RegisterColumn<unknown, "required"> ? N : never;
}[keyof C];

/** What `insert` takes: columns that are optional, have a default or begin empty may be left out. */
export type NewRowOf<T> =
  T extends Table<infer C, readonly string[]>
    ? { readonly [N in RequiredName<C>]: InitialOf<C[N]> } & {
        readonly [N in Exclude<keyof C, RequiredName<C>>]?: InitialOf<C[N]>;
      }
    : never;

/** Columns that are put. In a table that merges, scalars are given at insert and stay. */
type PutColumn<P extends Consistency> = [P] extends ["merging"] ? RegisterColumn : ScalarColumn | RegisterColumn;

type Puttable<C extends Columns, K extends readonly string[], P extends Consistency> = {
  [N in keyof C]: N extends K[number] ? never : C[N] extends PutColumn<P> ? N : never;
}[keyof C];

/** What `update` takes: some of the scalars and registers outside the primary key. In a table that merges, registers only. */
export type ChangesOf<T> =
  T extends Table<infer C, infer K, infer P> ? { readonly [N in Puttable<C, K, P>]?: CellOf<C[N]> } : never;

export type { ValueOf };
