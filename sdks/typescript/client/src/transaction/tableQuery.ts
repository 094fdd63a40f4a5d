/**
 * A query of one table within one run. Which index answers it is found out by the core, which is told what is asked in JSON.
 *
 * Invariant: a query is not changed by its methods, so a part of one can be used twice.
 */

import { copied, hasHalfCharacter, indexArgument, isPlainObject, plainMembersOf, shown, textArgument } from "../arguments/checks.js";
import { bytesOf, elementsOf, isArray, isBytes } from "../arguments/values.js";
import { IntegerRangeError, TransactionError } from "../errors.js";
import { type Column, CounterColumn, RegisterColumn, ScalarColumn } from "../schema/column.js";
import type { TableBinding } from "./binding.js";
import { isHidden } from "./hidden.js";
import type { Scope } from "./scope.js";

type Condition = readonly [column: string, test: string, value: unknown];

interface Question {
  readonly conditions: readonly Condition[];
  /** Of each of these, one is to hold. */
  readonly anyOf: readonly (readonly (readonly Condition[])[])[];
  readonly orderBy: readonly (readonly [string, string])[];
  readonly limit?: number;
  /** What a row has in each column by which there can be an order. */
  readonly after?: Readonly<Record<string, unknown>> | undefined;
}

const TESTS = new Set(["eq", "not", "lt", "lte", "gt", "gte", "in", "startsWith", "contains"]);

export class TableQuery {
  readonly #scope: Scope;
  readonly #table: TableBinding;
  readonly #rowOf: (values: readonly unknown[]) => unknown;
  readonly #question: Question;

  constructor(
    scope: Scope,
    table: TableBinding,
    rowOf: (values: readonly unknown[]) => unknown,
    question: Question = { conditions: [], anyOf: [], orderBy: [] },
  ) {
    this.#scope = scope;
    this.#table = table;
    this.#rowOf = rowOf;
    this.#question = question;
  }

  where(conditions: Readonly<Record<string, unknown>>): TableQuery {
    return this.#with({ conditions: [...this.#question.conditions, ...this.#all(conditions, "where")] });
  }

  whereAny(...alternatives: readonly Readonly<Record<string, unknown>>[]): TableQuery {
    const asked = alternatives.map((conditions) => this.#all(conditions, "whereAny"));
    if (asked.some((conditions) => conditions.length === 0)) {
      // Every row would answer.
      throw new TransactionError(`whereAny: one of the alternatives for table ${JSON.stringify(this.#table.name)} asks nothing`);
    }
    return this.#with({ anyOf: [...this.#question.anyOf, asked] });
  }

  orderBy(column: string, direction: "asc" | "desc" = "asc"): TableQuery {
    this.#column(textArgument(column, "transaction", `the column that orders table ${JSON.stringify(this.#table.name)}`));
    if (direction !== "asc" && direction !== "desc") {
      throw new TransactionError(`an order is "asc" or "desc", not ${shown(direction)}`);
    }
    return this.#with({ orderBy: [...this.#question.orderBy, [column, direction]] });
  }

  limit(rows: number): TableQuery {
    return this.#with({ limit: indexArgument(rows, "transaction", `limit of table ${JSON.stringify(this.#table.name)}`) });
  }

  after(row: Readonly<Record<string, unknown>> | undefined): TableQuery {
    if (row === undefined) {
      return this.#with({ after: undefined });
    }
    const table = JSON.stringify(this.#table.name);
    return copied("transaction", `after of table ${table}`, () => {
      if (typeof row !== "object" || row === null || !this.#table.key.some((name) => name in row)) {
        throw new TransactionError(`after: give it a row of table ${table} as a query returned it, which has ${this.#table.key.join(", ")}`);
      }
      const said = this.#table.columns.filter((name) => hasOneValue(this.#column(name)) && !isHidden(row, name) && row[name] !== undefined);
      return this.#with({ after: Object.fromEntries(said.map((name) => [name, this.#written(name, row[name])])) });
    });
  }

  all(): readonly unknown[] {
    return this.#rows().map((row) => this.#rowOf(row as readonly unknown[]));
  }

  first(): unknown {
    return this.limit(Math.min(1, this.#question.limit ?? 1)).all()[0];
  }

  count(): number {
    return this.#rows().length;
  }

  #rows(): readonly unknown[] {
    return this.#scope.call("ask", this.#table.number, json(this.#question));
  }

  #with(part: Partial<Question>): TableQuery {
    return new TableQuery(this.#scope, this.#table, this.#rowOf, { ...this.#question, ...part });
  }

  #all(conditions: unknown, step: string): Condition[] {
    const members = plainMembersOf(conditions, "transaction", `${step} of table ${JSON.stringify(this.#table.name)}: what is asked`);
    return members.flatMap(([column, asked]) => this.#conditions(column, asked));
  }

  #conditions(column: string, asked: unknown): Condition[] {
    // It has to be there, whatever is asked of it.
    this.#column(column);
    if (asked === undefined) {
      // Every row would answer.
      throw this.#wrong(column, "is asked for undefined: leave the column out to ask nothing of it");
    }
    if (typeof asked !== "object" || asked === null || isBytes(asked)) {
      return [[column, "eq", this.#written(column, asked)]];
    }
    const tests = copied("transaction", this.#place(column), () => (isPlainObject(asked) ? Object.entries(asked) : []));
    if (tests.length === 0) {
      // Nothing would be asked, and every row would answer.
      throw this.#wrong(column, `is asked for ${shown(asked)}, which is neither a value nor comparisons, such as { gt: 1 }`);
    }
    return tests.map(([test, value]) => [column, test, this.#compared(column, test, value)]);
  }

  #compared(column: string, test: string, value: unknown): unknown {
    if (!TESTS.has(test)) {
      throw this.#wrong(column, `has no comparison ${JSON.stringify(test)}`);
    }
    if (value === undefined) {
      throw this.#wrong(column, `is compared by ${JSON.stringify(test)} with undefined: leave the comparison out to ask nothing`);
    }
    if (test !== "in") {
      return this.#written(column, value);
    }
    if (!isArray(value)) {
      throw this.#wrong(column, `is compared by "in" with ${shown(value)}: give it an array of values`);
    }
    return elementsOf(value, "transaction", this.#place(column)).map((each) => this.#written(column, each));
  }

  /**
   * A value as the core reads it in JSON. This is done at the step, so that a mistake is an error where it was made, and whatever ways of their own the
   * values have to become JSON, as a Buffer has, are not taken.
   */
  #written(column: string, value: unknown): unknown {
    const { json } = this.#column(column);
    const type = json.of ?? json.type;
    const fits = value === null ? json.optional === true : fitsType(type, value);
    if (!fits) {
      throw this.#wrong(column, `is ${/^[aeiou]/.test(type) ? "an" : "a"} ${type}: ${shown(value)} is asked for`);
    }
    if (typeof value === "number") {
      if (type !== "float" && !Number.isSafeInteger(value)) {
        throw new IntegerRangeError(`${this.#place(column)}: ${value} is not exact as a number: ask for a bigint`);
      }
      // Floats go as text, of which the core reads every digit; of numbers in JSON it may not read the last ones, and infinities JSON has not.
      return type === "float" ? String(value) : value;
    }
    if (typeof value === "bigint") {
      return value.toString();
    }
    if (typeof value === "string" && hasHalfCharacter(textArgument(value, "transaction", this.#place(column)))) {
      // No column holds it, so nothing would be found, and the core reads no JSON with it.
      const half = "half of a character, a surrogate without the other one: cut strings between characters";
      throw this.#wrong(column, `is asked for ${JSON.stringify(value)}, which has ${half}`);
    }
    return isBytes(value) ? hexOf(bytesOf(value, "transaction", this.#place(column))) : value;
  }

  #place(column: string): string {
    return `table ${JSON.stringify(this.#table.name)}, column ${JSON.stringify(column)}`;
  }

  #wrong(column: string, problem: string): TransactionError {
    return new TransactionError(`${this.#place(column)} ${problem}`);
  }

  #column(column: string): Column {
    const definition = this.#table.definitions[this.#table.columns.indexOf(column)];
    if (definition === undefined) {
      throw new TransactionError(`table ${JSON.stringify(this.#table.name)} has no column ${JSON.stringify(column)}`);
    }
    return definition;
  }
}

function hasOneValue(column: Column): boolean {
  return column instanceof ScalarColumn || column instanceof RegisterColumn || column instanceof CounterColumn;
}

/** Whether a value is of a column's type. Integers may be bigints whatever the column's rows show. */
function fitsType(type: string, value: unknown): boolean {
  switch (type) {
    case "bool":
      return typeof value === "boolean";
    case "int":
    case "counter":
      return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
    case "float":
      return typeof value === "number" && !Number.isNaN(value);
    case "bytes":
      return isBytes(value);
    default:
      return typeof value === "string";
  }
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Each condition by itself, so that a column can have several of one kind. */
function json({ conditions, anyOf, orderBy, limit, after }: Question): string {
  const each = (all: readonly Condition[]): unknown[] => all.map(([column, test, value]) => [column, { [test]: value }]);
  const alternatives = anyOf.length > 0 ? anyOf.map((one) => one.map(each)) : undefined;
  return JSON.stringify({ where: each(conditions), anyOf: alternatives, orderBy, limit, after });
}
