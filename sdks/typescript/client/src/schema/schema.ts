/** The schema of an app: its tables, and their canonical JSON, which every client and server hashes alike. */

import { SchemaError } from "../errors.js";
import { Column, type ColumnJson } from "./column.js";
import { logsJson } from "./log.js";
import { checkMerging, merges } from "./merging.js";
import { type AnyTable, LIVE_KEY, LIVE_VALUE, LiveTable, Table } from "./table.js";

export type Tables = { readonly [name: string]: AnyTable };

/** Names that a transaction has for itself. */
const RESERVED = new Set(["instance", "now", "newId", "random", "then"]);

/** All tables of an app. Make one with `defineSchema()`. */
export class Schema<T extends Tables = Tables> {
  constructor(
    readonly tables: T,
    /** The canonical JSON. */
    readonly json: string,
  ) {}
}

export type TablesOf<S> = S extends Schema<infer T> ? T : never;

/** Puts an app's tables together. */
export function defineSchema<const T extends Tables>(tables: T): Schema<T> {
  const json: Record<string, unknown> = {};
  for (const [name, definition] of sorted(tables)) {
    if (RESERVED.has(name)) {
      throw new SchemaError(`table ${JSON.stringify(name)}: transactions have that name for themselves, take another`);
    }
    json[name] = tableJson(name, definition);
  }
  return new Schema(tables, JSON.stringify({ ...logsJson(tables), tables: json }));
}

// Keys stand in alphabetical order, and defaults are written out: that makes it canonical.
function tableJson(name: string, definition: AnyTable): unknown {
  const live = definition instanceof LiveTable;
  if (!live && !(definition instanceof Table)) {
    throw new SchemaError(`table ${JSON.stringify(name)}: make it with table({...}) or live(...)`);
  }
  const { log, consistency, onConflict } = definition.policy;
  if (consistency !== undefined && definition.policy.isolation !== "strict-serializable") {
    throw new SchemaError(`table ${JSON.stringify(name)}: a table that is ${consistency} has no isolation to choose`);
  }
  const columns = live ? { [LIVE_KEY]: definition.keyColumn, [LIVE_VALUE]: definition.value } : definition.columns;
  const key = live ? [LIVE_KEY] : definition.keyColumns;
  if (key.length === 0) {
    throw new SchemaError(`table ${JSON.stringify(name)} needs a primary key: a column id, or .key("column", ...)`);
  }
  const columnsJson = Object.fromEntries(sorted(columns).map(([column, each]) => [column, columnJson(name, column, each)]));
  if (!live) {
    checkMerging(name, definition);
  }
  return {
    columns: columnsJson,
    consistency: log === undefined ? (consistency ?? "strong") : "log",
    ...(definition.policy.delivered ? { delivered: true } : {}),
    ...indexesJson(definition),
    ...(consistency === undefined ? { isolation: definition.policy.isolation } : {}),
    key,
    live,
    ...(log === undefined ? {} : { log: log.name }),
    offline: definition.policy.offline,
    ...(onConflict === undefined ? {} : { onConflict }),
    ...(merges(definition.policy) ? { rows: "updates-win" } : {}),
  };
}

function indexesJson(definition: AnyTable): { readonly indexes?: Readonly<Record<string, readonly string[]>> } {
  const indexes = definition instanceof LiveTable ? [] : sorted(definition.indexes);
  return indexes.length === 0 ? {} : { indexes: Object.fromEntries(indexes) };
}

function columnJson(table: string, name: string, definition: Column): Record<string, unknown> {
  if (!(definition instanceof Column)) {
    const place = `table ${JSON.stringify(table)}, column ${JSON.stringify(name)}`;
    throw new SchemaError(`${place}: make it with a type of s, such as s.string()`);
  }
  const column = definition.json;
  const json: Record<string, unknown> = {};
  if (column.default !== undefined) {
    json["default"] = defaultJson(table, name, column);
  }
  for (const key of ["fetch", "of", "optional", "order", "type"] as const) {
    if (column[key] !== undefined) {
      json[key] = column[key];
    }
  }
  return json;
}

function defaultJson(table: string, name: string, column: ColumnJson): unknown {
  const value = column.default;
  const place = `table ${JSON.stringify(table)}, column ${JSON.stringify(name)}`;
  if (value instanceof Uint8Array) {
    throw new SchemaError(`${place}: a bytes column has no default, make it optional`);
  }
  if (typeof value === "bigint") {
    if (value < BigInt(Number.MIN_SAFE_INTEGER) || value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new SchemaError(`${place}: a default is a whole number between -(2^53 - 1) and 2^53 - 1`);
    }
    return Number(value);
  }
  return value;
}

function sorted<V>(record: { readonly [name: string]: V }): [string, V][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

export type { Column };
