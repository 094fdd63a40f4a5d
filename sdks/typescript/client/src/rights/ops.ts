/** Operations of an update: which columns it may change, how, and within which bounds. */

import type { ColumnJson, CounterColumn, ListColumn, MapColumn, RegisterColumn, ScalarColumn, ScalarName, SetColumn, TextColumn } from "../schema/column.js";
import type { AnyTable } from "../schema/table.js";
import { columnOf, type ColumnsOf, keyOf } from "./columns.js";
import { comparisonsOf } from "./conditions.js";
import type { KindOf } from "./kinds.js";
import { Claim, Operand } from "./operand.js";
import { RuleProblem } from "./problem.js";
import { Rule } from "./rule.js";

declare const boundsOf: unique symbol;

type Change = "any" | "put" | "add" | "insert" | "remove" | "append" | "setAt" | "putEntry" | "removeEntry" | "edit";

/** An operation that an update may do. */
export class Allowed<out C extends Change, out B> {
  declare readonly [boundsOf]: B;

  /** @internal */
  constructor(
    /** @internal */ readonly change: C,
    /** @internal Undefined: with any value. */ readonly bound: { readonly condition: unknown } | undefined,
  ) {}
}

/** Values that an operation carries: one, or those within bounds. What they are decides to which columns it fits. */
type BoundOf<B> = B extends Operand<infer K, boolean>
  ? K
  : B extends Claim
    ? "claim"
    : B extends null
      ? "null"
      : [KindOf<B>] extends [never]
        ? B extends { readonly [name: string]: unknown }
          ? { [N in keyof B]: N extends Comparison ? BoundOf<B[N]> : "unknown" }[keyof B]
          : "unknown"
        : KindOf<B>;

type Comparison = "is" | "isNot" | "less" | "atMost" | "greater" | "atLeast" | "beginsWith";

interface Carrying<C extends Change> {
  /** With any value. */
  (): Allowed<C, never>;
  /** With this value, or with one within these bounds: `{ atLeast: 1, atMost: 5 }`. */
  <const B>(value: B): Allowed<C, BoundOf<B>>;
}

type Fits<T, N extends boolean> = KindOf<T> | "claim" | (N extends true ? "null" : never);
type Nullable<P> = P extends "optional" ? true : false;

/** The operations that a column has. */
type AllowedOf<C> =
  | Allowed<"any", never>
  | (C extends ScalarColumn<infer T, infer P>
      ? Allowed<"put", Fits<T, Nullable<P>>>
      : C extends RegisterColumn<infer T, infer P>
        ? Allowed<"put", Fits<T, Nullable<P>>>
        : C extends CounterColumn
          ? Allowed<"put" | "add", Fits<number, false>>
          : C extends SetColumn<infer T>
            ? Allowed<"insert" | "remove", Fits<T, false>>
            : C extends ListColumn<infer T>
              ? Allowed<"append" | "setAt", Fits<T, false>>
              : C extends MapColumn<infer T>
                ? Allowed<"putEntry", Fits<T, false>> | Allowed<"removeEntry", Fits<string, false>>
                : C extends TextColumn
                  ? Allowed<"edit", never>
                  : never);

type KeyName<T> = T extends { readonly kind: "live" } ? "key" : T extends { readonly keyColumns: infer K extends readonly string[] } ? K[number] : never;

/** The columns that an update may change, each by an operation or one of several. */
export type Changes<T> = {
  readonly [N in Exclude<keyof ColumnsOf<T>, KeyName<T>>]?: AllowedOf<ColumnsOf<T>[N]> | readonly AllowedOf<ColumnsOf<T>[N]>[];
};

/** Operations, for rules of updates. */
export interface Ops<T> {
  /** Whether the update changes these columns only, each by one of its operations. */
  only(changes: Changes<T>): Rule;
  /** Every operation. */
  readonly any: Allowed<"any", never>;
  /** A value or a register is set, or a counter to a total. */
  readonly put: Carrying<"put">;
  /** A counter is added to: between these, all additions of the update together. */
  add(least: number | bigint, most: number | bigint): Allowed<"add", "number">;
  add(): Allowed<"add", never>;
  add<const B extends object>(bounds: B): Allowed<"add", BoundOf<B>>;
  /** A set gets a member. */
  readonly insert: Carrying<"insert">;
  /** A set loses a member. */
  readonly remove: Carrying<"remove">;
  /** A list gets an element at its end. */
  readonly append: Carrying<"append">;
  /** An element of a list is replaced by this value. */
  readonly setAt: Carrying<"setAt">;
  /** An entry of a map gets this value. */
  readonly putEntry: Carrying<"putEntry">;
  /** A map loses the entry of this key. */
  readonly removeEntry: Carrying<"removeEntry">;
  /** A text is edited. */
  readonly edit: Allowed<"edit", never>;
}

/** The type of the value that an operation carries. `null`: it has none that can be compared. Undefined: the column has no such operation. */
function valueOf(change: Change, { type, of }: ColumnJson): ScalarName | null | undefined {
  switch (change) {
    case "any":
      return null;
    case "put":
      return type === "counter" ? "int" : type === "register" ? of : type === "blob" ? null : isScalar(type) ? type : undefined;
    case "add":
      return type === "counter" ? "int" : undefined;
    case "insert":
    case "remove":
      return type === "set" ? of : undefined;
    case "append":
    case "setAt":
      return type === "list" ? of : undefined;
    case "putEntry":
      return type === "map" ? of : undefined;
    case "removeEntry":
      return type === "map" ? "string" : undefined;
    case "edit":
      return type === "text" ? null : undefined;
  }
}

function isScalar(type: ColumnJson["type"]): type is ScalarName {
  return !["register", "counter", "set", "list", "map", "text"].includes(type);
}

function carrying<C extends Change>(change: C): Carrying<C> {
  return ((...bound: readonly unknown[]) => new Allowed(change, bound.length === 0 ? undefined : { condition: bound[0] })) as Carrying<C>;
}

function add(...bound: readonly unknown[]): Allowed<"add", never> {
  const [first, second] = bound;
  const condition = bound.length === 2 ? { atLeast: first, atMost: second } : first;
  return new Allowed("add", bound.length === 0 ? undefined : { condition });
}

/** @internal */
export function opsOf(name: string, table: AnyTable): Ops<AnyTable> {
  return {
    only: (changes) => new Rule({ ops: Object.fromEntries(Object.entries(changes).map(([column, own]) => [column, allowedJson(name, table, column, own)])) }),
    any: new Allowed("any", undefined),
    put: carrying("put"),
    add: add as Ops<AnyTable>["add"],
    insert: carrying("insert"),
    remove: carrying("remove"),
    append: carrying("append"),
    setAt: carrying("setAt"),
    putEntry: carrying("putEntry"),
    removeEntry: carrying("removeEntry"),
    edit: new Allowed("edit", undefined),
  };
}

function allowedJson(name: string, table: AnyTable, column: string, own: unknown): readonly unknown[] {
  const { json } = columnOf(name, table, column);
  const place = `column ${JSON.stringify(column)} of table ${JSON.stringify(name)}`;
  if (keyOf(table).includes(column)) {
    throw new RuleProblem(`${place} is of the key, which no update changes: leave it out`);
  }
  return (Array.isArray(own) ? own : [own]).map((each: unknown) => {
    if (!(each instanceof Allowed)) {
      throw new RuleProblem(`${place} needs an operation, such as ops.any or ops.put(user.sub), not ${typeof each}${typeof each === "function" ? ": call it" : ""}`);
    }
    const change: Change = each.change;
    const scalar = valueOf(change, json);
    if (scalar === undefined) {
      throw new RuleProblem(`${place} is a ${json.type}, to which nothing does ${JSON.stringify(change)}: name another operation`);
    }
    if (scalar === null && each.bound !== undefined) {
      throw new RuleProblem(`${JSON.stringify(change)} of ${place} has no one value to compare: remove its bounds`);
    }
    const of = { scalar: scalar ?? undefined, name: `the value of ${JSON.stringify(change)} of ${place}` };
    return { [change]: each.bound === undefined ? [] : comparisonsOf(of, each.bound.condition) };
  });
}
