/** `db.live`: the bindings of an app's tables. */

import type { MutationHandle, Observation, ReactOptions } from "../client/types.js";
import { membersOf } from "../arguments/checks.js";
import { openWriter } from "../arguments/module.js";
import { keyValues } from "../arguments/values.js";
import { viewOf } from "../client/viewOption.js";
import { TransactionError } from "../errors.js";
import { type Column, RegisterColumn, ScalarColumn } from "../schema/column.js";
import type { Schema } from "../schema/schema.js";
import type { Closure } from "../transaction/runClosure.js";
import { bindTables, LIVE_VALUE_PLACE, type TableBinding } from "../transaction/binding.js";
import { withKnownNames } from "../transaction/knownNames.js";
import { errorOf } from "../transaction/scope.js";
import type { LiveWriter } from "../wasm/iolite_wasm.js";
import { type LiveCellName, type LiveHost, LiveReading, type LiveWrites } from "./binding.js";
import { bindingOf } from "./cells.js";

/** What bindings need of a client. */
export interface LiveClient {
  observe(closure: Closure, options: ReactOptions): Observation<unknown>;
  /** Calls the mutation of live operations, with arguments in JSON. */
  call(args: string): MutationHandle;
  /** Has the core make the arguments of one that changes a text, and calls it. */
  edit(cell: LiveCellName, at: number, removed: number, inserted: string): MutationHandle;
  written(cell: LiveCellName): string | undefined;
}

interface TableHost extends LiveHost {
  readonly schema: Schema;
  readonly writer: LiveWriter;
}

type Bind = (key: unknown, options?: ReactOptions) => unknown;

export function liveOf(schema: Schema, client: LiveClient): Record<string, Bind> {
  const writer = openWriter(schema.json);
  const write = (writes: LiveWrites): MutationHandle => client.call(checked(() => argumentsOf(writer, writes)));
  const observe: LiveHost["observe"] = (closure, options) => client.observe(closure, options);
  const edit: LiveHost["edit"] = (...edit) => client.edit(...edit);
  const written: LiveHost["written"] = (cell) => client.written(cell);
  const host: TableHost = { schema, writer, write, edit, written, observe };
  const tables = bindTables(writer, schema);
  const bindings = tables.map((table): [string, Bind] => [table.name, (key, options = {}) => bind(host, table, key, options)]);
  return withKnownNames(Object.fromEntries(bindings), (name) => new TransactionError(`the schema has no table ${JSON.stringify(name)}`));
}

function argumentsOf(writer: LiveWriter, writes: LiveWrites): string {
  try {
    for (const { call, table, key, column, rest } of writes) {
      writer.write(call, table, [...key], column, rest[0], rest[1]);
    }
  } catch (thrown) {
    // None of them counts.
    writer.take();
    throw thrown;
  }
  return writer.take();
}

/** What the core throws, as the package's errors. */
function checked<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw errorOf(thrown);
  }
}

function bind(host: TableHost, table: TableBinding, given: unknown, options: ReactOptions): unknown {
  const react = { view: viewOf(options) };
  const values = keyValues(given, "transaction", `the key of table ${JSON.stringify(table.name)}`);
  checked(() => host.writer.checkKey(table.number, values));
  const key = values.length === 1 ? values[0] : values;
  const cell = (columnNumber: number, column?: string): unknown => {
    const place = { table: table.name, key, column, number: table.number, values, columnNumber };
    return bindingOf(table.definitions[columnNumber] as Column, { host, schema: host.schema, place, react });
  };
  if (table.live) {
    return cell(LIVE_VALUE_PLACE);
  }
  const row: Record<string, unknown> = {};
  table.columns.forEach((name, index) => {
    if (!table.key.includes(name)) {
      row[name] = cell(index, name);
    }
  });
  row["self"] = new RowBinding(host, table, key, values, react);
  return withKnownNames(row, (name) => new TransactionError(`table ${JSON.stringify(table.name)} has no column ${JSON.stringify(name)} to bind`));
}

/** A row as a whole (the papers' `rmap_object`). */
class RowBinding extends LiveReading<unknown> {
  constructor(
    readonly host: LiveHost,
    readonly table: TableBinding,
    key: unknown,
    readonly values: readonly unknown[],
    react: ReactOptions,
  ) {
    const read: Closure = (tx) => (tx as unknown as Record<string, { get(key: unknown): unknown }>)[table.name]?.get(key);
    super(host, read, react);
  }

  update(changes: Record<string, unknown>): MutationHandle {
    const { columns, definitions, key, name, number } = this.table;
    const given = membersOf(changes, "transaction", `update of table ${JSON.stringify(name)}: what is given`);
    return this.host.write(
      given.map(([column, value]) => {
        const index = columns.indexOf(column);
        const definition = definitions[index];
        const puttable = definition instanceof ScalarColumn || definition instanceof RegisterColumn;
        if (!puttable || key.includes(column)) {
          throw new TransactionError(`table ${JSON.stringify(name)}: column ${JSON.stringify(column)} is none that update can put`);
        }
        if (value === undefined) {
          throw new TransactionError(`table ${JSON.stringify(name)}: column ${JSON.stringify(column)} is undefined: leave out what stays`);
        }
        return { call: "put", table: number, key: this.values, column: index, rest: [value] };
      }),
    );
  }
}
