/** Columns of a row as operands, and things by name, whose absence is an error that names what there is. */

import type { Column, CounterColumn, RegisterColumn, ScalarColumn, SetColumn } from "../schema/column.js";
import { type AnyTable, type Columns, LIVE_KEY, LIVE_VALUE, LiveTable, type Table } from "../schema/table.js";
import { type KindOf, shapeOf } from "./kinds.js";
import { Operand, SetOperand } from "./operand.js";
import { RuleProblem } from "./problem.js";

/** The columns of a table; those of a live table are its key and its value. */
export type ColumnsOf<T> =
  T extends LiveTable<infer C, infer K>
    ? { readonly key: ScalarColumn<K, "required">; readonly value: C }
    : T extends Table<infer C, readonly string[]>
      ? C
      : never;

type One<T, N extends boolean> = [KindOf<T>] extends [never] ? never : Operand<KindOf<T>, N>;

/** A column as rules see it. Never: no rule can look at lists, maps, texts and blobs. */
export type OperandOf<C> =
  C extends SetColumn<infer T>
    ? SetOperand<KindOf<T>>
    : C extends CounterColumn
      ? Operand<"number">
      : C extends ScalarColumn<infer T, infer P>
        ? One<T, P extends "optional" ? true : false>
        : C extends RegisterColumn<infer T, infer P>
          ? One<T, P extends "optional" ? true : false>
          : never;

/** The columns of a table as rules see them. */
export type OperandsOf<T> = {
  readonly [N in keyof ColumnsOf<T> as [OperandOf<ColumnsOf<T>[N]>] extends [never] ? never : N]: OperandOf<ColumnsOf<T>[N]>;
};

/** The types of the values of a table's primary key. */
export type KeyKinds<T> =
  T extends LiveTable<Column, infer K>
    ? readonly [KindOf<K>]
    : T extends Table<infer C extends Columns, infer K>
      ? { readonly [I in keyof K]: K[I] extends keyof C ? (C[K[I]] extends Column<infer V> ? KindOf<V> : never) : never }
      : never;

/** @internal */
export function columnsOf(table: AnyTable): Columns {
  return table instanceof LiveTable ? { [LIVE_KEY]: table.keyColumn, [LIVE_VALUE]: table.value } : table.columns;
}

/** @internal */
export function keyOf(table: AnyTable): readonly string[] {
  return table instanceof LiveTable ? [LIVE_KEY] : table.keyColumns;
}

/** @internal A column of a table, which has to be there. */
export function columnOf(name: string, table: AnyTable, column: string): Column {
  const columns = columnsOf(table);
  const found = Object.hasOwn(columns, column) ? columns[column] : undefined;
  if (found === undefined) {
    throw new RuleProblem(`table ${JSON.stringify(name)} has no column ${JSON.stringify(column)}: there are ${Object.keys(columns).join(", ")}`);
  }
  return found;
}

/** @internal A column as an operand, given how JSON and errors spell it. */
export function operandOf(name: string, table: AnyTable, column: string, json: unknown, words: string): Operand<never, boolean> | SetOperand<never> {
  const found = columnOf(name, table, column);
  const shape = shapeOf(found);
  if (shape === undefined) {
    throw new RuleProblem(`column ${JSON.stringify(column)} of table ${JSON.stringify(name)} is a ${found.json.type}, which no rule can compare: use another column`);
  }
  return shape.isSet ? new SetOperand(json, shape.scalar, words) : new Operand(json, shape.scalar, words);
}

/** @internal The columns of a version of a row. */
export function rowOf(name: string, table: AnyTable, version: "row" | "old" | "new"): object {
  return byName((column) => operandOf(name, table, column, { [version]: column }, `${version}.${column}`));
}

/** @internal An object that makes what is asked of it by name. */
export function byName(make: (name: string) => unknown, known: object = {}): object {
  return new Proxy(known, {
    get: (own, name) => (typeof name !== "string" ? undefined : Object.hasOwn(own, name) ? own[name as never] : make(name)),
  });
}
