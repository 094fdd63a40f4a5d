/**
 * Causal tables that merge: which ones there can be.
 *
 * Invariant: every column of such a table is of a type whose changes commute. The core checks the same, by the same words (crates/values/src/schema/merging.rs).
 */

import { SchemaError } from "../errors.js";
import type { ColumnJson } from "./column.js";
import type { Table, TablePolicy } from "./table.js";

/** How a causal table ends what two devices did to a row unseen by each other: a person decides. */
export interface ManualOptions {
  readonly onConflict: "manual";
}

/** How a causal table ends what two devices did to a row unseen by each other: the types of its columns do. */
export interface MergeOptions {
  readonly onConflict?: "merge" | undefined;
  /** A row that is deleted and updated at once comes back whole. */
  readonly rows?: "updates-win" | undefined;
}

const OPTIONS = ["onConflict", "rows"];

/** Whether the calls of a table's mutators merge. */
export function merges({ onConflict }: TablePolicy): boolean {
  return onConflict === "merge";
}

/** Reads from the options of a causal table how its conflicts end. */
export function onConflictOf(options: ManualOptions | MergeOptions): "manual" | "merge" {
  const given: { readonly onConflict?: unknown; readonly rows?: unknown } = options;
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new SchemaError(`causal has no option ${JSON.stringify(unknown)}: there are ${OPTIONS.join(", ")}`);
  }
  const { onConflict = "merge", rows } = given;
  if (onConflict !== "manual" && onConflict !== "merge") {
    throw new SchemaError(`onConflict is manual or merge, not ${JSON.stringify(onConflict)}`);
  }
  checkRows(onConflict, rows);
  return onConflict;
}

function checkRows(onConflict: "manual" | "merge", rows: unknown): void {
  if (rows === "deletes-win") {
    throw new SchemaError('rows where deletes win are not built yet: say rows "updates-win", or leave it out');
  }
  if (rows !== undefined && rows !== "updates-win") {
    throw new SchemaError(`rows is updates-win, not ${JSON.stringify(rows)}`);
  }
  if (rows !== undefined && onConflict === "manual") {
    throw new SchemaError('rows belongs to tables that merge: say onConflict "merge", or leave it out');
  }
}

/** Checks that a table that merges can. */
export function checkMerging(name: string, { columns, policy }: Pick<Table, "columns" | "policy">): void {
  if (!merges(policy)) {
    return;
  }
  const place = `table ${JSON.stringify(name)}`;
  if (policy.delivered) {
    throw new SchemaError(`${place}: a table that merges has no delivered view: leave out .delivered(), or make it strong`);
  }
  if (policy.offline === "refuse") {
    throw new SchemaError(`${place}: a table that merges takes changes offline: leave out .offline("refuse"), or make it strong`);
  }
  for (const [column, { json }] of Object.entries(columns)) {
    const problem = PROBLEMS[json.type];
    if (problem !== undefined) {
      throw new SchemaError(`${place}, column ${JSON.stringify(column)}: ${problem}`);
    }
  }
}

/** The types of columns that cannot merge: the reason, and what to do instead. */
const PROBLEMS: { readonly [T in ColumnJson["type"]]?: string } = {
  blob: 'a table that merges has no blobs, whose chunks are leased from one store: make the table .causal({ onConflict: "manual" })',
  list: "a table that merges has no lists, whose order is that of one store: make each element a row",
  map: "maps that merge are not built yet: make each entry a row",
  text: "texts that merge are not built yet: take a register, or a strong table",
};
