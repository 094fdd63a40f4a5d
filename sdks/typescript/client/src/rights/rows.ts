/** Other rows than the one that is judged: one that is followed by its key, and the set of those that name the user. */

import type { Schema, Tables, TablesOf } from "../schema/schema.js";
import type { AnyTable } from "../schema/table.js";
import { byName, columnOf, type ColumnsOf, keyOf, type KeyKinds, operandOf, type OperandOf, type OperandsOf } from "./columns.js";
import { type Conditions, conditionsJson } from "./conditions.js";
import { type Kind, shapeOf } from "./kinds.js";
import { Mine, type Operand, operandJson, type Value } from "./operand.js";
import { RuleProblem } from "./problem.js";
import { Rule } from "./rule.js";

/** A row that is followed by its key. Its columns are there by their names; a column called like a method is there as `column("exists")`. */
export type Followed<T> = FollowedRow<T> & Omit<OperandsOf<T>, keyof FollowedRow<T>>;

interface FollowedRow<T> {
  /** Whether the row is there, and its columns compare so. */
  exists(conditions?: Conditions<T>): Rule;
  /** One of its columns. */
  column<N extends keyof OperandsOf<T>>(name: N): OperandsOf<T>[N];
}

/** The values of a key, as a rule gives them. */
type KeyOperands<Kinds> = { readonly [I in keyof Kinds]: Kinds[I] extends Kind ? Value<Kinds[I]> : never };

/** Rows of all tables, each followed by its whole primary key: `at.members(row.room, user.sub)`. */
export type Rows<T extends Tables> = {
  readonly [N in keyof T]: (...key: KeyOperands<KeyKinds<T[N]>> & readonly unknown[]) => Followed<T[N]>;
};

/** @internal */
export function rowsOf(tables: Tables, when: "at" | "after"): object {
  return byName((name) => {
    const table = tableOf(tables, name);
    return (...key: readonly unknown[]) => followed(name, table, when, key);
  });
}

function tableOf(tables: Tables, name: string): AnyTable {
  const table = Object.hasOwn(tables, name) ? tables[name] : undefined;
  if (table === undefined) {
    throw new RuleProblem(`the schema has no table ${JSON.stringify(name)}: there are ${Object.keys(tables).join(", ")}`);
  }
  return table;
}

function followed(name: string, table: AnyTable, when: "at" | "after", given: readonly unknown[]): object {
  const columns = keyOf(table);
  if (given.length !== columns.length) {
    throw new RuleProblem(`${when}.${name}(…) names ${given.length} columns of a key that has ${columns.length}: give ${columns.join(", ")}`);
  }
  const key = columns.map((column, place) => {
    const scalar = shapeOf(columnOf(name, table, column))?.scalar;
    return operandJson({ scalar, name: `${name}.${column}` }, given[place]);
  });
  const row = { [when]: { key, table: name } };
  const column = (own: string): unknown => operandOf(name, table, own, { ...row, column: own }, `${when}.${name}(…).${own}`);
  const exists = (conditions: object = {}): Rule => {
    const where = conditionsJson(name, table, conditions);
    return new Rule({ exists: where.length === 0 ? row : { ...row, where } });
  };
  return byName(column, { column, exists });
}

type ElementKind<O> = O extends Operand<infer K, boolean> ? K : never;

/**
 * The values of a column, of those rows of a table that satisfy conditions: `mine(schema, "members", "room", { user: user.sub })` are the rooms of the rows whose
 * user somebody is. One condition compares with the user; the table needs a key or an index that begins with that column.
 */
export function mine<S extends Schema, N extends keyof TablesOf<S> & string, C extends keyof OperandsOf<TablesOf<S>[N]> & string>(
  schema: S,
  table: N,
  column: C,
  conditions: Conditions<TablesOf<S>[N], true>,
): Mine<ElementKind<OperandOf<ColumnsOf<TablesOf<S>[N]>[C & keyof ColumnsOf<TablesOf<S>[N]>]>>> {
  const found = tableOf(schema.tables, table);
  const shape = shapeOf(columnOf(table, found, column));
  if (shape === undefined || shape.isSet) {
    throw new RuleProblem(`mine(…): column ${JSON.stringify(column)} of table ${JSON.stringify(table)} has no one value: use another column`);
  }
  const where = conditionsJson(table, found, conditions);
  return new Mine({ column, table, where }, shape.scalar, `mine(${table}.${column})`);
}
