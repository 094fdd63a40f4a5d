/** Conditions of columns: a value that the column has to be equal to, or comparisons by their names. */

import type { AnyTable } from "../schema/table.js";
import { columnOf, type ColumnsOf, type OperandOf } from "./columns.js";
import { type Constant, type Holds, type Kind, shapeOf } from "./kinds.js";
import { Claim, comparison, isRelation, Operand, SetOperand, type Subject, type Value } from "./operand.js";
import { RuleProblem } from "./problem.js";

/** Comparisons of one value. All hold. */
export interface Bounds<V, NullableV = V> {
  readonly is?: NullableV;
  readonly isNot?: NullableV;
  readonly less?: V;
  readonly atMost?: V;
  readonly greater?: V;
  readonly atLeast?: V;
}

interface TextBounds<V> {
  readonly beginsWith?: V;
}

type BoundsOf<K extends Kind, V, NullableV> = Bounds<V, NullableV> & ("string" extends K ? TextBounds<V> : unknown);

type ConditionOf<O, Own extends boolean> =
  O extends SetOperand<infer K>
    ? { readonly contains: Given<K, false, Own> }
    : O extends Operand<infer K, infer N>
      ? Given<K, N, Own> | BoundsOf<K, Given<K, false, Own>, Given<K, N, Own>>
      : never;

/** In a set of rows only claims and constants are compared with. */
type Given<K extends Kind, N extends boolean, Own extends boolean> = Own extends true
  ? Constant<K, N> | Claim | ("string" extends K ? Subject : never)
  : Value<K, N>;

/** Conditions of a row of a table, by columns. `Own`: they compare with claims and constants only. */
export type Conditions<T, Own extends boolean = false> = {
  readonly [N in keyof ColumnsOf<T>]?: ConditionOf<OperandOf<ColumnsOf<T>[N]>, Own>;
};

/** @internal Conditions as data. */
export function conditionsJson(name: string, table: AnyTable, conditions: object): readonly unknown[] {
  return Object.entries(conditions).flatMap(([column, condition]: [string, unknown]) => {
    const shape = shapeOf(columnOf(name, table, column));
    if (shape === undefined) {
      throw new RuleProblem(`column ${JSON.stringify(column)} of table ${JSON.stringify(name)} has no value that a rule compares: use another column`);
    }
    const of = { scalar: shape.scalar, name: `${name}.${column}` };
    return comparisonsOf(of, condition).map((is) => ({ column, is }));
  });
}

/** @internal The comparisons of a condition: one with a value, or some by name. */
export function comparisonsOf(of: Holds, condition: unknown): readonly unknown[] {
  if (!isBounds(condition)) {
    return [comparison(of, "is", condition)];
  }
  return Object.entries(condition).map(([relation, other]) => {
    if (!isRelation(relation)) {
      throw new RuleProblem(`${of.name} has no comparison ${JSON.stringify(relation)}: there are is, isNot, less, atMost, greater, atLeast, beginsWith, contains`);
    }
    return comparison(of, relation, other);
  });
}

function isBounds(condition: unknown): condition is Readonly<Record<string, unknown>> {
  const isValue = condition instanceof Operand || condition instanceof SetOperand || condition instanceof Claim;
  return typeof condition === "object" && condition !== null && !isValue && !(condition instanceof Uint8Array);
}
