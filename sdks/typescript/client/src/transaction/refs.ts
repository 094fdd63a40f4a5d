/** References to single cells. Nothing is read before one of their methods is called. */

import { indexArgument, placeArgument } from "../arguments/checks.js";
import { TransactionError } from "../errors.js";
import {
  type Column,
  CounterColumn,
  ListColumn,
  MapColumn,
  RegisterColumn,
  ScalarColumn,
  SetColumn,
  TextColumn,
} from "../schema/column.js";
import type { Scope } from "./scope.js";

/** Which cell: the table's number, the key's values, the column's number. */
type CellName = readonly [table: number, key: unknown[], column: number];

class ScalarRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(): unknown {
    return this.scope.call("cell", ...this.name);
  }

  set(value: unknown): void {
    this.scope.call("put", ...this.name, value);
  }
}

class IdRef extends ScalarRef {
  generate(): unknown {
    const id = this.scope.call("newId");
    this.set(id);
    return id;
  }
}

class CounterRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(): unknown {
    return this.scope.call("cell", ...this.name);
  }

  set(total: number | bigint): void {
    this.scope.call("putTotal", ...this.name, total);
  }

  increment(by: number | bigint = 1): void {
    this.scope.call("add", ...this.name, by, 1);
  }

  decrement(by: number | bigint = 1): void {
    this.scope.call("add", ...this.name, by, -1);
  }
}

class SetRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(): ReadonlySet<unknown> {
    return this.scope.call("cell", ...this.name);
  }

  get size(): number {
    return this.get().size;
  }

  has(value: unknown): boolean {
    return this.scope.call("contains", ...this.name, value);
  }

  at(index: number): unknown {
    if (placeArgument(index, "transaction", "the index") < 0) {
      return Array.from(this.get()).at(index);
    }
    return this.scope.call("memberAt", ...this.name, checkedIndex(index));
  }

  add(value: unknown): void {
    this.scope.call("setMember", ...this.name, value, true);
  }

  delete(value: unknown): void {
    this.scope.call("setMember", ...this.name, value, false);
  }
}

class ListRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(): readonly unknown[] {
    return this.scope.call("cell", ...this.name);
  }

  toArray(): readonly unknown[] {
    return this.get();
  }

  get length(): number {
    return this.get().length;
  }

  at(index: number): unknown {
    if (placeArgument(index, "transaction", "the index") < 0) {
      return this.get().at(index);
    }
    return this.scope.call("element", ...this.name, checkedIndex(index));
  }

  slice(from = 0, to?: number): readonly unknown[] {
    checkSlice(from, to);
    if (to === undefined || to < 0 || from < 0) {
      return this.get().slice(from, to);
    }
    return this.scope.call("elements", ...this.name, checkedIndex(from), checkedIndex(to));
  }

  push(value: unknown): void {
    this.scope.call("push", ...this.name, value);
  }

  set(index: number, value: unknown): void {
    this.scope.call("setElement", ...this.name, checkedIndex(index), value);
  }
}

class MapRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(...key: [] | [key: string]): unknown {
    return key.length === 0 ? this.scope.call("cell", ...this.name) : this.scope.call("entry", ...this.name, key[0]);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: unknown): void {
    if (value === undefined) {
      throw new TransactionError("undefined is no value of a map: use delete to remove an entry");
    }
    this.scope.call("setEntry", ...this.name, key, value);
  }

  delete(key: string): void {
    this.scope.call("setEntry", ...this.name, key, undefined);
  }
}

class TextRef {
  constructor(readonly scope: Scope, readonly name: CellName) {}

  get(): string {
    return this.scope.call("cell", ...this.name);
  }

  get length(): number {
    return this.scope.call("textLength", ...this.name);
  }

  insert(at: number, text: string): void {
    this.splice(at, 0, text);
  }

  remove(at: number, length: number): void {
    this.splice(at, length, "");
  }

  splice(at: number, removed: number, text: string): void {
    this.scope.call("splice", ...this.name, checkedIndex(at), checkedIndex(removed), text);
  }
}

export function refTo(column: Column, scope: Scope, name: CellName): unknown {
  if (column instanceof CounterColumn) {
    return new CounterRef(scope, name);
  }
  if (column instanceof SetColumn) {
    return new SetRef(scope, name);
  }
  if (column instanceof ListColumn) {
    return new ListRef(scope, name);
  }
  if (column instanceof MapColumn) {
    return new MapRef(scope, name);
  }
  if (column instanceof TextColumn) {
    return new TextRef(scope, name);
  }
  if (column instanceof ScalarColumn && column.json.type === "id") {
    return new IdRef(scope, name);
  }
  if (column instanceof ScalarColumn || column instanceof RegisterColumn) {
    return new ScalarRef(scope, name);
  }
  throw new TypeError("this is no column of @iolite/client");
}

/** @throws code `transaction`, for what is no index. */
export function checkedIndex(index: number): number {
  return indexArgument(index, "transaction", "the index");
}

/** @throws code `transaction`, for bounds of a slice that are none. */
export function checkSlice(from: unknown, to: unknown): void {
  placeArgument(from, "transaction", "the first index");
  placeArgument(to ?? 0, "transaction", "the index behind the last");
}
