/** Scenes: what each rule may look at. A rule of reading follows no rows, and only one of updating has operations. */

import type { Tables } from "../schema/schema.js";
import type { AnyTable } from "../schema/table.js";
import { columnOf, keyOf, type OperandsOf, rowOf } from "./columns.js";
import { shapeOf } from "./kinds.js";
import { Operand } from "./operand.js";
import { type Ops, opsOf } from "./ops.js";
import { type Rows, rowsOf } from "./rows.js";

/** All rules have this but those of reading tables. */
interface Beside<T extends Tables> {
  /** Rows before the transaction, by their whole primary keys. */
  readonly at: Rows<T>;
}

/** Rules whose answer is for one transaction, and is not kept. */
interface AtOneTime<T extends Tables> extends Beside<T> {
  /** The gateway's time, in milliseconds since 1970. */
  readonly now: Operand<"number">;
}

interface Written<T extends Tables> extends AtOneTime<T> {
  /** Rows with what the transaction writes. */
  readonly after: Rows<T>;
}

export interface ReadScene<R> {
  readonly row: OperandsOf<R>;
}

export interface CreateScene<T extends Tables, R> extends Written<T> {
  /** The row as it will be. */
  readonly row: OperandsOf<R>;
  readonly new: OperandsOf<R>;
}

export interface UpdateScene<T extends Tables, R> extends Written<T> {
  /** The row as it will be. */
  readonly row: OperandsOf<R>;
  readonly new: OperandsOf<R>;
  /** The row before the transaction. */
  readonly old: OperandsOf<R>;
  /** Operations, to limit what the update does. */
  readonly ops: Ops<R>;
}

export interface DeleteScene<T extends Tables, R> extends Written<T> {
  /** The row as it is. */
  readonly row: OperandsOf<R>;
  readonly old: OperandsOf<R>;
}

export interface CheckScene<T extends Tables, R> extends Written<T> {
  /** The row as it will be. */
  readonly row: OperandsOf<R>;
  readonly new: OperandsOf<R>;
  /** The row before the transaction. A row that is created counts as one that was empty. */
  readonly old: OperandsOf<R>;
}

export interface JoinScene<T extends Tables> extends Beside<T> {
  /** The instance of the log. `defineRights` knows its type from the schema. */
  readonly key: Operand<any>;
}

export interface RunScene<T extends Tables> extends JoinScene<T>, AtOneTime<T> {
  /** The name of the operation. */
  readonly operation: Operand<"string">;
}

export interface ObjectScene<T extends Tables> extends Beside<T> {
  readonly className: Operand<"string">;
  /** The id of the object. */
  readonly id: Operand<"string">;
}

export interface CallScene<T extends Tables> extends ObjectScene<T> {
  /** The name of the method. */
  readonly method: Operand<"string">;
}

const NOW = new Operand<"number">("now", "int", "now");
const part = (json: string, name: string): Operand<"string"> => new Operand(json, "string", name);

/** @internal The scene of a rule of a table. */
export function tableScene(tables: Tables, name: string, table: AnyTable, right: string): object {
  const row = (version: "row" | "old" | "new"): object => rowOf(name, table, version);
  const read = { row: row("row") };
  if (right === "read") {
    return read;
  }
  return {
    ...read,
    at: rowsOf(tables, "at"),
    after: rowsOf(tables, "after"),
    now: NOW,
    ...(right === "create" ? {} : { old: row("old") }),
    ...(right === "delete" ? {} : { new: row("new") }),
    ...(right === "update" ? { ops: opsOf(name, table) } : {}),
  };
}

/** @internal The scene of a rule of a log, one of whose tables is known. */
export function logScene(tables: Tables, name: string, table: AnyTable, right: string): object {
  const [first = ""] = keyOf(table);
  const key = new Operand("key", shapeOf(columnOf(name, table, first))?.scalar, "key");
  return { key, at: rowsOf(tables, "at"), ...(right === "run" ? { now: NOW, operation: part("operation", "operation") } : {}) };
}

/** @internal The scene of a rule of a class of objects. */
export function objectScene(tables: Tables, right: string): object {
  return {
    className: part("class", "className"),
    id: part("objectId", "id"),
    at: rowsOf(tables, "at"),
    ...(right === "call" ? { method: part("method", "method") } : {}),
  };
}
