/** Tables as the core numbers them, and the order of their columns. */

import type { Column } from "../schema/column.js";
import type { Schema } from "../schema/schema.js";
import { type AnyTable, LIVE_KEY, LIVE_VALUE, LiveTable } from "../schema/table.js";
import type { Core } from "../wasm/iolite_wasm.js";

/** Whatever numbers tables: a core, and what writes without one. */
type Numbering = Pick<Core, "addTable">;

/** One table of the schema at one core. */
export interface TableBinding {
  readonly name: string;
  /** The core's number for it. */
  readonly number: number;
  readonly live: boolean;
  /** Whether it is a variable of a log: its operations know the first value of its keys. */
  readonly ofLog: boolean;
  /** The names of the columns in the order of the core's rows. */
  readonly columns: readonly string[];
  readonly definitions: readonly Column[];
  readonly key: readonly string[];
  /** The columns that hold blobs. */
  readonly blobs: readonly string[];
}

/** Where the value of a live table stands in its rows, behind the key. */
export const LIVE_VALUE_PLACE = 1;

/** Tells the core about the tables of a schema. */
export function bindTables(core: Numbering, schema: Schema): TableBinding[] {
  return Object.entries(schema.tables).map(([name, table]) => bind(core, name, table));
}

function bind(core: Numbering, name: string, table: AnyTable): TableBinding {
  const live = table instanceof LiveTable;
  const named = live ? { [LIVE_KEY]: table.keyColumn, [LIVE_VALUE]: table.value } : table.columns;
  const columns = Object.keys(named);
  const definitions = Object.values(named);
  const blobs = columns.filter((_, place) => definitions[place]?.json.type === "blob");
  const wide = definitions.map(({ shape }) => shape === "bigint");
  return { name, number: core.addTable(name, columns, wide), live, ofLog: table.policy.log !== undefined, columns, definitions, key: live ? [LIVE_KEY] : table.keyColumns, blobs };
}
