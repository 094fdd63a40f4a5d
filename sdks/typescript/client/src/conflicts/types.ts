/** Conflicts of causal tables as apps see them. */

import type { Stop } from "../client/types.js";
import type { ChangesOf, RowOf } from "../schema/row.js";
import type { Schema } from "../schema/schema.js";
import type { KeyOf, Table } from "../schema/table.js";

/** A row that this device and somebody else have written, unseen by each other. The device shows its own until a person has decided. */
export interface RowConflict<T = never> {
  /** As `get` takes it. */
  readonly key: KeyOf<T>;
  /** The row that the calls had read; undefined if there was none, or this device does not have it any more. */
  readonly base: RowOf<T> | undefined;
  /** The row as this device shows it; undefined: deleted here. */
  readonly local: RowOf<T> | undefined;
  /** The row as the server has it; undefined: deleted there. */
  readonly server: RowOf<T> | undefined;
  /** How many calls have written it here. */
  readonly calls: number;
}

/** A conflict, to be decided. */
export interface OpenConflict<T = never> extends RowConflict<T> {
  /** Keeps the device's row, the server's row, or the server's row with these values. Without a call it stays in conflict. */
  keep(choice: "local" | "server" | ChangesOf<T>): void;
}

/** The conflicts of one table. */
export interface Conflicts<T = never> {
  /** All, in the order of keys. Another array whenever it changes. */
  readonly list: readonly RowConflict<T>[];
  /** Calls back soon, and whenever the list is another one. */
  watch(callback: (rows: readonly RowConflict<T>[]) => void): Stop;
  /**
   * Decides conflicts, all that `decide` keeps something of, or none. `shown`: the rows that the person looked at, of `list` or `watch`; those of this moment
   * unless it is given. Rejects with code `call` if the server's row of one is another by now, or if it is in no conflict any more; with what `decide` throws, and
   * with `closed`, `storage` or `failed` as a call of a mutator.
   */
  resolve(decide: (rows: readonly OpenConflict<T>[]) => void, shown?: readonly RowConflict<T>[]): Promise<void>;
}

/** The causal tables of a schema. One that merges has no conflicts. */
export type ConflictsOf<S> =
  S extends Schema<infer T>
    ? { readonly [N in keyof T as T[N] extends Table<infer _C, infer _K, "causal"> ? N : never]: Conflicts<T[N]> }
    : never;

/** A row as the core has it: its cells in the order of the table's columns. */
export type RawRow = readonly unknown[] | null;

export type RawConflict = readonly [key: readonly unknown[], base: RawRow, local: RawRow, server: RawRow, version: string, calls: number];

/** `keep`: which row. For `values` the columns' places and the values follow. */
export type RawChoice = readonly [
  key: readonly unknown[],
  version: string,
  keep: "local" | "server" | "values",
  columns: readonly number[],
  values: readonly unknown[],
];
