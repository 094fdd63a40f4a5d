/**
 * Logs: tables that are the variables of one shared state machine, and the operations that change them.
 *
 * Invariant: the tables of a log go into a schema together, under the names that its operations use.
 */

import { SchemaError } from "../errors.js";
import type { ArgumentsOf, Mutator } from "../mutators.js";
import { mutator } from "../mutators.js";
import type { LogTransaction } from "../transaction/types.js";
import type { ValueOf } from "./column.js";
import type { Tables } from "./schema.js";
import { type Columns, LiveTable, Table } from "./table.js";

/**
 * Makes an operation of a log: a function that reads and writes the tables of its log and nothing else. With a parser in front it checks its arguments, as
 * `mutator` does. Rows and keys may leave out the first key column, which is the instance's: `tx.instance`. One that throws `Abort` has no effect, at every member alike.
 */
export const operation: typeof mutator = mutator;

export type AnyOperations<T extends Tables> = { readonly [name: string]: Mutator<LogTransaction<T>, never> };

/** A log begins with an operation that has no arguments. */
type Initial<O> = { [N in keyof O]: [ArgumentsOf<O[N]>] extends [undefined] ? N : never }[keyof O] & string;

/** The tables and operations of a log. Make one with `defineLog()`. */
export class LogDefinition<T extends Tables = Tables, O = unknown> {
  readonly tables: T;

  constructor(
    readonly name: string,
    tables: T,
    readonly operations: O,
    /** The operation that every member replays before all others. */
    readonly initial: string | undefined,
  ) {
    this.tables = Object.fromEntries(Object.entries(tables).map(([own, table]) => [own, ofLog(table, this)])) as unknown as T;
  }
}

/** The instance of a log: a value of the first column of its tables' keys. */
export type InstanceOf<T extends Tables> = { [N in keyof T]: FirstOfKey<T[N]> }[keyof T];

type FirstOfKey<T> =
  T extends LiveTable<infer _, infer K>
    ? K
    : T extends Table<infer C extends Columns, infer K>
      ? K extends readonly [infer First extends keyof C, ...unknown[]]
        ? ValueOf<C[First]>
        : never
      : never;

/**
 * Puts the tables and the operations of a log together. There is one log for each value of the first column of the tables' keys. Every member replays the
 * operations in one order. Give its tables to the schema too: `defineSchema({ ...others, ...sheet.tables })`.
 */
export function defineLog<const T extends Tables, const O extends AnyOperations<T>>(
  name: string,
  tables: T,
  operations: O,
  options: { readonly initial?: Initial<O> } = {},
): LogDefinition<T, O> {
  const refuse = (problem: string): never => {
    throw new SchemaError(`log ${JSON.stringify(name)}: ${problem}`);
  };
  if (typeof name !== "string" || name === "") {
    refuse("its name is a string that is not empty");
  }
  if (Object.keys(tables).length === 0) {
    refuse("it needs a table, whose rows its operations change");
  }
  for (const [own, table] of Object.entries(tables)) {
    if (!(table instanceof Table || table instanceof LiveTable)) {
      refuse(`make its table ${JSON.stringify(own)} with table({...}) or live(...)`);
    }
    if (table.policy.log !== undefined) {
      refuse(`its table ${JSON.stringify(own)} is of the log ${JSON.stringify(table.policy.log.name)} already`);
    }
  }
  for (const [own, each] of Object.entries<Partial<Mutator> | undefined>(operations)) {
    if (typeof each?.run !== "function") {
      refuse(`wrap the function of ${JSON.stringify(own)}: operation((tx, args) => ...)`);
    }
  }
  const { initial } = options;
  if (initial !== undefined && !Object.hasOwn(operations, initial)) {
    refuse(`it begins with ${JSON.stringify(initial)}, which is none of its operations`);
  }
  return new LogDefinition(name, tables, operations, initial);
}

/** The logs of a schema by name. */
export function logsOf(tables: Tables): ReadonlyMap<string, LogDefinition> {
  const logs = new Map<string, LogDefinition>();
  for (const [own, { policy }] of Object.entries(tables)) {
    if (policy.log !== undefined) {
      checkLog(tables, own, policy.log, logs.get(policy.log.name));
      logs.set(policy.log.name, policy.log);
    }
  }
  return logs;
}

/** How logs begin, for the canonical JSON: only those that begin with an operation. */
export function logsJson(tables: Tables): { readonly logs?: Readonly<Record<string, { readonly initial: string }>> } {
  const begun = [...logsOf(tables).values()].flatMap(({ name, initial }) => (initial === undefined ? [] : [[name, { initial }] as const]));
  return begun.length === 0 ? {} : { logs: Object.fromEntries(begun.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** The operations of all logs, by the names under which the core knows them. */
export function operationsOf(tables: Tables): ReadonlyMap<string, Mutator> {
  const named = [...logsOf(tables).values()].flatMap(({ name, operations }) =>
    Object.entries(operations as AnyOperations<Tables>).map(([own, each]) => [fullName(name, own), each as Mutator] as const),
  );
  return new Map(named);
}

/** The name of an operation among all that a client can call. */
export function fullName(log: string, own: string): string {
  return `${log}.${own}`;
}

function ofLog(table: Table | LiveTable, log: LogDefinition): Table | LiveTable {
  const policy = { ...table.policy, log };
  return table instanceof LiveTable
    ? new LiveTable(table.value, table.keyColumn, policy)
    : new Table(table.columns, table.keyColumns, policy, table.indexes);
}

function checkLog(tables: Tables, own: string, log: LogDefinition, other: LogDefinition | undefined): void {
  const place = `table ${JSON.stringify(own)} of the log ${JSON.stringify(log.name)}`;
  if (other !== undefined && other !== log) {
    throw new SchemaError(`${place}: there are two logs of that name, give one of them another`);
  }
  if (!Object.hasOwn(log.tables, own)) {
    throw new SchemaError(`${place}: its log knows it under another name, which its operations use; add ...log.tables to the schema as they are`);
  }
  const missing = Object.keys(log.tables).find((name) => tables[name]?.policy.log !== log);
  if (missing !== undefined) {
    throw new SchemaError(`${place}: the schema lacks the table ${JSON.stringify(missing)} of the same log; add all of ...log.tables`);
  }
}
