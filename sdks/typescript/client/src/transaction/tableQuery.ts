/**
 * A query of one table within one run. Which index answers it is found out by the core, which is told what is asked in JSON.
 *
 * Invariant: a query is not changed by its methods, so a part of one can be used twice.
 */

import { TransactionError } from "../errors.js";
import { type Column, CounterColumn, RegisterColumn, ScalarColumn } from "../schema/column.js";
import type { TableBinding } from "./binding.js";
import { isPlain } from "./equality.js";
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

const LIMIT_MAX = 2 ** 32 - 1;

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
    return this.#with({ conditions: [...this.#question.conditions, ...this.#all(conditions)] });
  }

  whereAny(...alternatives: readonly Readonly<Record<string, unknown>>[]): TableQuery {
    const asked = alternatives.map((conditions) => this.#all(conditions));
    if (asked.some((conditions) => conditions.length === 0)) {
      // Every row would answer.
      throw new TransactionError(`whereAny: one of the alternatives for table ${JSON.stringify(this.#table.name)} asks nothing`);
    }
    return this.#with({ anyOf: [...this.#question.anyOf, asked] });
  }

  orderBy(column: string, direction: "asc" | "desc" = "asc"): TableQuery {
    this.#column(column);
    if (direction !== "asc" && direction !== "desc") {
      throw new TransactionError(`an order is "asc" or "desc", not ${String(direction)}`);
    }
    return this.#with({ orderBy: [...this.#question.orderBy, [column, direction]] });
  }

  limit(rows: number): TableQuery {
    return this.#with({ limit: checkedLimit(rows) });
  }

  after(row: Readonly<Record<string, unknown>> | undefined): TableQuery {
    if (row === undefined) {
      return this.#with({ after: undefined });
    }
    if (typeof row !== "object" || row === null || !this.#table.key.some((name) => name in row)) {
      const table = JSON.stringify(this.#table.name);
      throw new TransactionError(`after: give it a row of table ${table} as a query returned it, which has ${this.#table.key.join(", ")}`);
    }
    const said = this.#table.columns.filter((name) => row[name] !== undefined && hasOneValue(this.#column(name)));
    const values = said.map((name) => [name, written(name, this.#column(name), row[name])]);
    return this.#with({ after: Object.fromEntries(values) });
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

  #all(conditions: Readonly<Record<string, unknown>>): Condition[] {
    return Object.entries(conditions).flatMap(([column, asked]) => this.#conditions(column, asked));
  }

  #conditions(column: string, asked: unknown): Condition[] {
    if (asked === undefined) {
      return [];
    }
    const definition = this.#column(column);
    if (typeof asked !== "object" || asked === null || asked instanceof Uint8Array) {
      return [[column, "eq", written(column, definition, asked)]];
    }
    const tests = Object.entries(asked);
    if (!isPlain(asked) || tests.length === 0) {
      // Nothing would be asked, and every row would answer.
      const shown = Object.prototype.toString.call(asked);
      throw new TransactionError(`column ${JSON.stringify(column)}: ${shown} is neither a value nor comparisons, such as { gt: 1 }`);
    }
    const unknown = tests.find(([test]) => !TESTS.has(test));
    if (unknown !== undefined) {
      throw new TransactionError(`column ${JSON.stringify(column)}: there is no comparison ${JSON.stringify(unknown[0])}`);
    }
    const said = tests.filter(([, value]) => value !== undefined);
    if (said.length === 0) {
      // As above. Whoever means that leaves the column out, or says undefined of it.
      throw new TransactionError(`column ${JSON.stringify(column)}: every comparison is with undefined, so nothing would be asked of it`);
    }
    return said.map(([test, value]) => [column, test, written(column, definition, value)]);
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

/**
 * A value, or several, as the core reads it in JSON. This is done at the step, so that a mistake is an error where it was made, and whatever ways of their own
 * the values have to become JSON, as a Buffer has, are not taken.
 */
function written(column: string, definition: Column, value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => written(column, definition, each));
  }
  if (value === null || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "number") {
    // Floats go as text, of which the core reads every digit; of numbers in JSON it may not read the last ones, and infinities JSON has not.
    return (definition.json.of ?? definition.json.type) === "float" || !Number.isFinite(value) ? String(value) : value;
  }
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (typeof value === "string") {
    return wellFormed(column, value);
  }
  if (value instanceof Uint8Array) {
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  throw new TransactionError(`column ${JSON.stringify(column)}: ${Object.prototype.toString.call(value)} is no value`);
}

/** No column holds half of a character, so nothing would be found, and the core reads no JSON with one. */
function wellFormed(column: string, text: string): string {
  if (/\p{Surrogate}/u.test(text)) {
    const half = "half of a character, a surrogate without the other one: cut strings between characters";
    throw new TransactionError(`column ${JSON.stringify(column)}: ${JSON.stringify(text)} has ${half}`);
  }
  return text;
}

/** The core counts rows in 32 bits. */
export function checkedLimit(rows: number): number {
  if (!Number.isInteger(rows) || rows < 0 || rows > LIMIT_MAX) {
    throw new RangeError(`a limit is a whole number from 0 to ${LIMIT_MAX}, not ${rows}`);
  }
  return rows;
}

/** Each condition by itself, so that a column can have several of one kind. */
function json({ conditions, anyOf, orderBy, limit, after }: Question): string {
  const each = (all: readonly Condition[]): unknown[] => all.map(([column, test, value]) => [column, { [test]: value }]);
  const alternatives = anyOf.length > 0 ? anyOf.map((one) => one.map(each)) : undefined;
  return JSON.stringify({ where: each(conditions), anyOf: alternatives, orderBy, limit, after });
}
