/** One table within one run. */

import { BlobValue } from "../blob/value.js";
import { ListColumn, MapColumn, RegisterColumn, ScalarColumn, SetColumn } from "../schema/column.js";
import { copied, indexArgument, isPlainObject, membersOf, optionsOf, refusal, shown } from "../arguments/checks.js";
import { boundValues, cellValue, isArray, iteratedValues, keyValues } from "../arguments/values.js";
import { TransactionError } from "../errors.js";
import { LIVE_VALUE_PLACE, type TableBinding } from "./binding.js";
import { failureAt, hide, hideIn } from "./hidden.js";
import { withKnownNames } from "./knownNames.js";
import { refTo } from "./refs.js";
import { errorOf, type Scope } from "./scope.js";
import { TableQuery } from "./tableQuery.js";
import type { RangeOptions } from "./types.js";

type Row = Readonly<Record<string, unknown>>;

const RANGE_OPTIONS = ["prefix", "from", "after", "to", "limit", "reverse"];

/**
 * Reads and writes of one table. In a reactive transaction the core refuses the writes. In an operation of a log, the instance is the first value of each key
 * that is shorter than the table's by one, and of each bound of a range.
 */
export class TableAccess {
  readonly #scope: Scope;
  readonly #table: TableBinding;

  /** The instance, in an array, if an operation of a log runs. Undefined before it is asked for. */
  #instance: readonly unknown[] | undefined;

  constructor(scope: Scope, table: TableBinding) {
    this.#scope = scope;
    this.#table = table;
  }

  get(key: unknown): unknown {
    return this.#found(this.#scope.call("row", this.#table.number, this.#key(key)));
  }

  getAll(keys: Iterable<unknown>): readonly unknown[] {
    const values = iteratedValues(keys, "transaction", "the keys").map((key) => this.#key(key));
    const rows = this.#scope.call("rows", this.#table.number, values) as (unknown[] | undefined)[];
    const found: unknown[] = [];
    rows.forEach((row, place) => {
      const failure = this.#failure(row);
      found[place] = failure === undefined ? this.#found(row) : undefined;
      if (failure !== undefined) {
        hide(found, String(place), failure);
      }
    });
    return found;
  }

  has(key: unknown): boolean {
    return this.#scope.call("has", this.#table.number, this.#key(key));
  }

  range(options: RangeOptions<never> = {}): readonly unknown[] {
    const place = `range of table ${JSON.stringify(this.#table.name)}`;
    const given = optionsOf(options, RANGE_OPTIONS, "transaction", place);
    const bound = (name: string): unknown[] | undefined => {
      const values = name in given ? boundValues(given[name], "transaction", `${place}: ${name}`) : undefined;
      return values && [...this.#ofInstance(), ...values];
    };
    const most = "limit" in given ? indexArgument(given["limit"], "transaction", `${place}: limit`) : undefined;
    const { reverse = false } = given;
    if (typeof reverse !== "boolean") {
      throw refusal("transaction", `${place}: reverse is true or false, not ${shown(reverse)}`);
    }
    const prefix = bound("prefix") ?? (this.#ofInstance().length > 0 ? [...this.#ofInstance()] : undefined);
    const rows = this.#scope.call("range", this.#table.number, prefix, bound("from"), bound("after"), bound("to"), most, reverse);
    return rows.map((row: unknown[]) => this.#row(row));
  }

  /** A query with conditions. */
  where(conditions: Row): TableQuery {
    return this.#query().where(conditions);
  }

  /** A query with alternatives. */
  whereAny(...alternatives: readonly Row[]): TableQuery {
    return this.#query().whereAny(...alternatives);
  }

  /** A query in an order. */
  orderBy(column: string, direction?: "asc" | "desc"): TableQuery {
    return this.#query().orderBy(column, direction);
  }

  #query(): TableQuery {
    if (this.#table.live) {
      throw new TransactionError(`table ${JSON.stringify(this.#table.name)} is live: its rows are read by their keys`);
    }
    if (this.#ofInstance().length > 0) {
      const table = JSON.stringify(this.#table.name);
      throw new TransactionError(`table ${table}: an operation of a log finds rows with get and range; queries are not there in operations yet`);
    }
    return new TableQuery(this.#scope, this.#table, (values) => this.#row(values));
  }

  ref(key: unknown): unknown {
    const values = this.#key(key);
    const { number, columns, definitions, live } = this.#table;
    const refOf = (index: number): unknown => {
      const column = definitions[index];
      return column === undefined ? undefined : refTo(column, this.#scope, [number, values, index]);
    };
    if (live) {
      return refOf(LIVE_VALUE_PLACE);
    }
    const refs = {};
    columns.forEach((name, index) => {
      if (!this.#table.key.includes(name)) {
        Object.defineProperty(refs, name, { enumerable: true, get: () => refOf(index) });
      }
    });
    return withKnownNames(refs, (name) => this.#noColumn(name));
  }

  insert(given: Row): void {
    const row = this.#members(given, "insert");
    const key = this.#keyOf(row);
    const columns: number[] = [];
    const values: unknown[] = [];
    for (const [name, value] of Object.entries(row)) {
      if (value !== undefined && !this.#table.key.includes(name)) {
        const index = this.#column(name);
        columns.push(index);
        values.push(this.#content(index, value));
      }
    }
    this.#scope.call("insert", this.#table.number, key, columns, values);
  }

  /** Makes the row, or puts what is said of it into the one that is there. Only an operation has it. */
  put(given: Row): void {
    const row = this.#members(given, "put");
    const key = this.#keyOf(row);
    if (this.#ofInstance().length === 0) {
      throw new TransactionError(`table ${JSON.stringify(this.#table.name)}: put is for operations of a log; use insert or update`);
    }
    if (this.has(key)) {
      this.update(key, Object.fromEntries(Object.entries(row).filter(([name]) => !this.#table.key.includes(name))));
    } else {
      this.insert(row);
    }
  }

  /** The version of a row, in a table that syncs. */
  version(key: unknown): string | undefined {
    return this.#scope.call("version", this.#table.number, this.#key(key));
  }

  update(key: unknown, changes: Row, options: { readonly base?: string } = {}): void {
    const values = this.#key(key);
    this.#onBase(values, options, "update");
    for (const [name, value] of Object.entries(this.#members(changes, "update"))) {
      if (this.#table.key.includes(name)) {
        throw this.#wrongColumn(name, "is in the primary key, which stays");
      }
      const index = this.#column(name);
      const column = this.#table.definitions[index];
      if (!(column instanceof ScalarColumn || column instanceof RegisterColumn)) {
        throw this.#wrongColumn(name, `is a ${column?.json.type}: change it through ref(key).${name}`);
      }
      if (value === undefined) {
        throw this.#wrongColumn(name, "is undefined: leave out what stays, and say null to empty an optional column");
      }
      this.#scope.call("put", this.#table.number, values, index, cellValue(value, "transaction", this.#place(index)));
    }
  }

  delete(key: unknown, options: { readonly base?: string } = {}): void {
    const values = this.#key(key);
    this.#onBase(values, options, "delete");
    this.#scope.call("delete", this.#table.number, values);
  }

  /** Says which version of the row the user saw. */
  #onBase(key: unknown[], options: unknown, method: string): void {
    const { base } = optionsOf(options, ["base"], "transaction", `${method} of table ${JSON.stringify(this.#table.name)}`);
    if (base !== undefined) {
      this.#scope.call("base", this.#table.number, key, base as string);
    }
  }

  #wrongColumn(name: string, why: string): TransactionError {
    return new TransactionError(`table ${JSON.stringify(this.#table.name)}: column ${JSON.stringify(name)} ${why}`);
  }

  #key(key: unknown): unknown[] {
    const values = keyValues(key, "transaction", `the key of table ${JSON.stringify(this.#table.name)}`);
    return values.length === this.#table.key.length - 1 ? [...this.#ofInstance(), ...values] : values;
  }

  #keyOf(row: Row): unknown[] {
    const [instance] = this.#ofInstance();
    return this.#table.key.map((name, place) => row[name] ?? (place === 0 ? instance : undefined));
  }

  #ofInstance(): readonly unknown[] {
    if (this.#instance === undefined) {
      const instance: unknown = this.#table.ofLog ? this.#scope.call("instance") : undefined;
      this.#instance = instance === undefined ? [] : [instance];
    }
    return this.#instance;
  }

  #column(name: string): number {
    const index = this.#table.columns.indexOf(name);
    if (index < 0) {
      throw this.#noColumn(name);
    }
    return index;
  }

  #noColumn(name: string): TransactionError {
    if (this.#table.key.includes(name)) {
      return this.#wrongColumn(name, "is in the primary key, and has no cell");
    }
    return new TransactionError(`table ${JSON.stringify(this.#table.name)} has no column ${JSON.stringify(name)}`);
  }

  /** A live table's row is its value. */
  #found(row: readonly unknown[] | undefined): unknown {
    if (row === undefined) {
      return undefined;
    }
    const failure = this.#failure(row);
    if (failure !== undefined) {
      throw errorOf(failure);
    }
    return this.#table.live ? row[LIVE_VALUE_PLACE] : this.#row(row);
  }

  /** Why the value of a live table cannot be shown. */
  #failure(row: readonly unknown[] | undefined): string | undefined {
    return this.#table.live && row !== undefined ? failureAt(row, this.#table.columns.length, LIVE_VALUE_PLACE) : undefined;
  }

  #row(values: readonly unknown[]): Row {
    const row: Record<string, unknown> = {};
    const { name: table, columns, key } = this.#table;
    columns.forEach((name, index) => {
      row[name] = values[index];
    });
    for (const column of this.#table.blobs) {
      BlobValue.readAt(row[column], { table, key: key.map((name) => row[name]), column });
    }
    hideIn(row, this.#table.columns, values);
    // Whoever writes into a row means `update`, and would wonder that nothing happens.
    return this.#scope.isChecked ? Object.freeze(row) : row;
  }

  /** Collections go to the core as arrays. */
  #content(index: number, value: unknown): unknown {
    const column = this.#table.definitions[index];
    if (column instanceof SetColumn || column instanceof ListColumn) {
      return iteratedValues(value, "transaction", this.#place(index));
    }
    if (column instanceof MapColumn) {
      const isPlain = copied("transaction", this.#place(index), () => isPlainObject(value));
      return isPlain ? membersOf(value, "transaction", this.#place(index)) : this.#entries(index, value);
    }
    return cellValue(value, "transaction", this.#place(index));
  }

  /** The entries of a map. What can be iterated and has no pairs is refused by the core. */
  #entries(index: number, value: unknown): unknown[] {
    if (typeof value === "string" || isArray(value)) {
      throw refusal("transaction", `${this.#place(index)} is a map or a plain object, not ${shown(value)}`);
    }
    return iteratedValues(value, "transaction", this.#place(index));
  }

  /** A copy of a row, or of changes. */
  #members(given: unknown, method: string): Row {
    return Object.fromEntries(membersOf(given, "transaction", `${method} of table ${JSON.stringify(this.#table.name)}: what is given`));
  }

  #place(index: number): string {
    return `table ${JSON.stringify(this.#table.name)}, column ${JSON.stringify(this.#table.columns[index])}`;
  }
}
