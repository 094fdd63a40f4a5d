/** Bindings of single cells, by the types of their columns. */

import type { MutationHandle, ReactOptions } from "../client/types.js";
import { SchemaError, TransactionError } from "../errors.js";
import { newId } from "../id.js";
import {
  type Column,
  CounterColumn,
  ListColumn,
  MapColumn,
  type ScalarColumn,
  SetColumn,
  TextColumn,
} from "../schema/column.js";
import type { Schema } from "../schema/schema.js";
import { LIVE_KEY, LiveTable, type Table } from "../schema/table.js";
import { checkedIndex, checkSlice } from "../transaction/refs.js";
import type { Closure } from "../transaction/runClosure.js";
import { type LiveCellName, type LiveHost, LiveReading } from "./binding.js";

/** Which cell, for reads by name and writes by number. */
export interface CellPlace {
  readonly table: string;
  readonly key: unknown;
  readonly column: string | undefined;
  readonly number: number;
  readonly values: readonly unknown[];
  readonly columnNumber: number;
}

interface CellOptions {
  readonly host: LiveHost;
  readonly schema: Schema;
  readonly place: CellPlace;
  readonly react: ReactOptions;
}

type Tables = Record<string, { ref(key: unknown): Record<string, unknown>; getAll(keys: Iterable<unknown>): unknown[] }>;

abstract class CellBinding extends LiveReading<unknown> {
  readonly #options: CellOptions;

  constructor(options: CellOptions, read: (ref: { get(): unknown }) => unknown = (ref) => ref.get()) {
    super(options.host, reading(options.place, read), options.react);
    this.#options = options;
  }

  protected get options(): CellOptions {
    return this.#options;
  }

  protected write(call: string, ...rest: unknown[]): MutationHandle {
    const { host, place } = this.#options;
    return host.write([{ call, table: place.number, key: place.values, column: place.columnNumber, rest }]);
  }
}

function reading({ table, key, column }: CellPlace, read: (ref: never) => unknown): Closure {
  return (tx) => {
    const ref = (tx as unknown as Tables)[table]?.ref(key);
    return read((column === undefined ? ref : ref?.[column]) as never);
  };
}

class ScalarBinding extends CellBinding {
  set(value: unknown): MutationHandle {
    return this.write("put", value);
  }
}

class IdBinding extends ScalarBinding {
  generate(): MutationHandle {
    return this.set(newId());
  }
}

class CounterBinding extends CellBinding {
  set(total: unknown): MutationHandle {
    return this.write("putTotal", total);
  }

  increment(by: unknown = 1): MutationHandle {
    return this.write("add", by, 1);
  }

  decrement(by: unknown = 1): MutationHandle {
    return this.write("add", by, -1);
  }
}

class SetBinding extends CellBinding {
  add(value: unknown): MutationHandle {
    return this.write("setMember", value, true);
  }

  delete(value: unknown): MutationHandle {
    return this.write("setMember", value, false);
  }
}

class ListBinding extends CellBinding {
  push(value: unknown): MutationHandle {
    return this.write("push", value);
  }

  set(index: number, value: unknown): MutationHandle {
    return this.write("setElement", checkedIndex(index), value);
  }

  slice(from?: number, to?: number): RangeBinding {
    checkSlice(from ?? 0, to);
    return new RangeBinding(this.options, from, to);
  }
}

class MapBinding extends CellBinding {
  set(key: string, value: unknown): MutationHandle {
    if (value === undefined) {
      throw new TransactionError("undefined is no value of a map: use delete to remove an entry");
    }
    return this.write("setEntry", key, value);
  }

  delete(key: string): MutationHandle {
    return this.write("setEntry", key, undefined);
  }
}

interface Sliceable {
  slice(from?: number, to?: number): readonly unknown[];
}

/** A part of a list (the papers' `rmap_range`). */
class RangeBinding extends CellBinding {
  readonly #slice: (list: Sliceable) => readonly unknown[];

  constructor(options: CellOptions, from?: number, to?: number) {
    const slice = (list: Sliceable): readonly unknown[] => list.slice(from, to);
    super(options, slice as never);
    this.#slice = slice;
  }

  /** The rows that its elements name (the papers' `rmap_objectrange`). */
  rows(table: Table | LiveTable): LiveReading<readonly unknown[]> {
    const { host, schema, place, react } = this.options;
    const name = Object.keys(schema.tables).find((each) => schema.tables[each] === table);
    if (name === undefined) {
      throw new SchemaError("these are rows of a table of another schema");
    }
    const key = keyTypeOf(table);
    const element = elementTypeOf(schema, place);
    if (key === undefined || key !== element) {
      throw new SchemaError(`the elements of this list are of type ${element}, and no keys of table ${JSON.stringify(name)}`);
    }
    const elements = reading(place, this.#slice as never);
    const rows: Closure = (tx) => (tx as unknown as Tables)[name]?.getAll(elements(tx) as Iterable<unknown>);
    return new LiveReading(host, rows, react);
  }
}

/** The type of a table's key, if that has one column. */
function keyTypeOf(table: Table | LiveTable): string | undefined {
  if (table instanceof LiveTable) {
    return table.keyColumn.json.type;
  }
  const [only, ...others] = table.keyColumns;
  return only === undefined || others.length > 0 ? undefined : table.columns[only]?.json.type;
}

function elementTypeOf(schema: Schema, { table, column }: CellPlace): string | undefined {
  const definition = schema.tables[table];
  const own = definition instanceof LiveTable ? definition.value : definition?.columns[column ?? LIVE_KEY];
  return own?.json.of;
}

class TextBinding extends CellBinding {
  get written(): string | undefined {
    return this.options.host.written(this.#cell);
  }

  insert(at: number, text: string): MutationHandle {
    return this.splice(at, 0, text);
  }

  remove(at: number, length: number): MutationHandle {
    return this.splice(at, length, "");
  }

  splice(at: number, removed: number, text: string): MutationHandle {
    return this.options.host.edit(this.#cell, checkedIndex(at), checkedIndex(removed), text);
  }

  get #cell(): LiveCellName {
    const { place } = this.options;
    return { table: place.number, key: place.values, column: place.columnNumber };
  }
}

export function bindingOf(column: Column, options: CellOptions): unknown {
  if (column instanceof CounterColumn) {
    return new CounterBinding(options);
  }
  if (column instanceof SetColumn) {
    return new SetBinding(options);
  }
  if (column instanceof ListColumn) {
    return new ListBinding(options);
  }
  if (column instanceof MapColumn) {
    return new MapBinding(options);
  }
  if (column instanceof TextColumn) {
    return new TextBinding(options);
  }
  return (column as ScalarColumn).json.type === "id" ? new IdBinding(options) : new ScalarBinding(options);
}
