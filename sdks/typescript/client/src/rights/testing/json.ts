/**
 * Rows, keys and changes as the judge reads them.
 *
 * Invariant: a value that its column does not hold is an error with table and column. What else does not fit, the judge says.
 */

import type { ColumnJson, ScalarName } from "../../schema/column.js";
import type { AnyTable } from "../../schema/table.js";
import { columnsOf, keyOf } from "../columns.js";
import { shown, written } from "../kinds.js";
import { RightsTestError } from "./error.js";

/** A column, for errors. */
interface Place {
  readonly table: string;
  readonly column: string;
}

/** A row that is given or created. */
export function rowJson(table: string, definition: AnyTable, row: unknown): unknown {
  return Object.fromEntries(entriesOf(table, row).map(([column, value]) => [column, contentJson({ table, column }, columnJson(definition, column), value)]));
}

/** The changes of an update. */
export function changesJson(table: string, definition: AnyTable, changes: unknown): unknown {
  return Object.fromEntries(
    entriesOf(table, changes).map(([column, change]) => {
      const json = columnJson(definition, column);
      const place = { table, column };
      return [column, Array.isArray(change) ? change.map((each) => changeJson(place, json, each)) : changeJson(place, json, change)];
    }),
  );
}

/** A key: its one value, or its values in an array. */
export function keyJson(table: string, definition: AnyTable, key: unknown): unknown {
  const values = Array.isArray(key) ? (key as readonly unknown[]) : [key];
  const columns = keyOf(definition);
  return values.map((value, place) => {
    const column = columns[place];
    const json = column === undefined ? undefined : columnJson(definition, column);
    // The judge says how many there have to be.
    return json === undefined || column === undefined ? null : contentJson({ table, column }, json, value);
  });
}

/** A column that is undefined is left out. */
function entriesOf(table: string, given: unknown): readonly [string, unknown][] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new RightsTestError("mistake", `table ${JSON.stringify(table)}: give an object of columns and values, not ${shown(given)}`);
  }
  return Object.entries(given).filter(([, value]) => value !== undefined);
}

/** Undefined: there is no such column, and the judge says so. */
function columnJson(definition: AnyTable, column: string): ColumnJson | undefined {
  const columns = columnsOf(definition);
  return Object.hasOwn(columns, column) ? columns[column]?.json : undefined;
}

function contentJson(place: Place, json: ColumnJson | undefined, value: unknown): unknown {
  if (json === undefined) {
    return null;
  }
  const { type, of = "string" } = json;
  switch (type) {
    case "register":
      return scalarJson(place, of, value);
    case "counter":
      return scalarJson(place, "int", value);
    case "set":
    case "list":
      return elementsOf(place, type, value).map((each) => scalarJson(place, of, each));
    case "map": {
      const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(objectOf(place, value));
      return Object.fromEntries(entries.map(([key, each]) => [key, scalarJson(place, of, each)]));
    }
    case "text":
      return scalarJson(place, "string", value);
    default:
      return scalarJson(place, type, value);
  }
}

/** The operations of a column that carry a value, by how it is written. */
const OF_ELEMENTS = new Set(["insert", "remove", "append"]);
const OF_PLACES = new Set(["setAt", "putEntry"]);
const AS_THEY_ARE = new Set(["removeEntry", "edit"]);

function changeJson(place: Place, json: ColumnJson | undefined, change: unknown): unknown {
  const of = json?.of ?? "string";
  const [[name, value] = ["", undefined], ...more] = typeof change === "object" && change !== null ? Object.entries(change) : [];
  if (json !== undefined && more.length === 0) {
    if (name === "add") {
      return { add: scalarJson(place, "int", value) };
    }
    if (OF_ELEMENTS.has(name)) {
      return { [name]: scalarJson(place, of, value) };
    }
    if (OF_PLACES.has(name) && Array.isArray(value) && value.length === 2) {
      return { [name]: [value[0], scalarJson(place, of, value[1])] };
    }
    if (OF_PLACES.has(name) || AS_THEY_ARE.has(name)) {
      return { [name]: value };
    }
  }
  // The judge says which operations these have.
  const hasOperations = json !== undefined && ["set", "list", "map", "text"].includes(json.type);
  return hasOperations ? shown(change) : contentJson(place, json, change);
}

function scalarJson(place: Place, type: ScalarName, value: unknown): unknown {
  if (value === null) {
    return null;
  }
  // No rule can look at a blob, so one is like another.
  const json = type === "blob" && typeof value === "object" ? { $blob: "" } : written(type, value);
  return json === undefined ? wrong(place, `${shown(value)} is no value of type ${type}`) : json;
}

function elementsOf(place: Place, type: string, value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null || !(Symbol.iterator in value)) {
    return wrong(place, `a ${type} begins with its elements in an array, not ${shown(value)}`);
  }
  return [...(value as Iterable<unknown>)];
}

function objectOf(place: Place, value: unknown): object {
  return typeof value === "object" && value !== null ? value : wrong(place, `a map begins with a Map or an object, not ${shown(value)}`);
}

function wrong({ table, column }: Place, problem: string): never {
  throw new RightsTestError("mistake", `table ${JSON.stringify(table)}, column ${JSON.stringify(column)}: ${problem}`);
}
