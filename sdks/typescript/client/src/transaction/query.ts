/** Queries by columns: `tx.notes.where({ owner }).orderBy("createdAt", "desc").limit(20).all()`. */

import type { Id } from "../id.js";
import type { CounterColumn, RegisterColumn, ScalarColumn, SetColumn } from "../schema/column.js";
import type { CellOf, RowOf } from "../schema/row.js";
import type { Table } from "../schema/table.js";

/** The values that a column can be asked for: of a set, its members. */
type Asked<C> = C extends ScalarColumn | RegisterColumn | CounterColumn ? CellOf<C> : never;

/** What can be asked of a value. No comparison by order holds for null. */
export type Comparison<V> = {
  readonly eq?: V;
  /** Another value than this, null included. */
  readonly not?: V;
  readonly lt?: NonNullable<V>;
  readonly lte?: NonNullable<V>;
  readonly gt?: NonNullable<V>;
  readonly gte?: NonNullable<V>;
  /** One of these. */
  readonly in?: readonly V[];
} & (NonNullable<V> extends Id
  ? unknown
  : NonNullable<V> extends string
    ? {
        /** A text that begins so. */
        readonly startsWith?: string;
      }
    : unknown);

type ConditionOf<C> =
  C extends SetColumn<infer T>
    ? {
        /** A set with this member. */
        readonly contains: T;
      }
    : Asked<C> | Comparison<Asked<C>>;

type Queryable<C> = {
  [N in keyof C]: C[N] extends ScalarColumn | RegisterColumn | CounterColumn | SetColumn ? N : never;
}[keyof C];

type Orderable<C> = {
  [N in keyof C]: C[N] extends ScalarColumn | RegisterColumn | CounterColumn ? N : never;
}[keyof C];

/** Conditions on columns, which all have to hold. A value asks for itself. Leave out a column, or a comparison, to ask nothing of it. */
export type Where<T> = T extends Table<infer C, readonly string[]> ? { readonly [N in Queryable<C>]?: ConditionOf<C[N]> } : never;

/** The columns by which rows can be put in order. */
export type OrderColumn<T> = T extends Table<infer C, readonly string[]> ? Orderable<C> & string : never;

/** Where a row stands: its primary key, and what it has in the columns of the order or of an index. Every row that a query returned says it. */
export type PlaceOf<T> =
  T extends Table<infer C, infer K>
    ? { readonly [N in K[number] & keyof C]: CellOf<C[N]> } & { readonly [N in Orderable<C>]?: CellOf<C[N]> }
    : never;

/**
 * A query that is being put together: each step makes another one. Nothing is read before `all`, `first` or `count`.
 *
 * @throws code `transaction`, at the step or when it is read: for a column that is not there, a value or a comparison that does not fit one, undefined,
 * a string with half of a character (a surrogate without the other one), and for an order with a limit, or a row to come after, where no index has that
 * order.
 */
export interface Query<T> {
  /** Only rows of which this holds, and what was asked before. */
  where(conditions: Where<T>): Query<T>;
  /**
   * Only rows of which one of these holds, or more of them, each with all of its conditions; and what was asked before. Of none at all none holds. They choose no
   * index: what else is asked does.
   *
   * @throws code `transaction`, for one that asks nothing.
   */
  whereAny(...alternatives: readonly Where<T>[]): Query<T>;
  /** In the order of a column, then of those that are named next. With a limit it needs an index: `table({...}).index(...)`. */
  orderBy(column: OrderColumn<T>, direction?: "asc" | "desc"): Query<T>;
  /**
   * At most this many rows.
   *
   * @throws code `transaction`, for what is no whole number from 0, or more than the core can count.
   */
  limit(rows: number): Query<T>;
  /**
   * Only the rows that come after this one in the order of the query, or all of them for undefined: the next page, after the last row of one. Of the row
   * only the columns of the primary key and of the index count; it may be gone by now. As with a limit, an index is needed.
   */
  after(row: PlaceOf<T> | undefined): Query<T>;
  all(): readonly RowOf<T>[];
  first(): RowOf<T> | undefined;
  /** How many rows there are. All of them are fetched to be counted. */
  count(): number;
}
