import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";

import { args, read, sapphire } from "./decorators.js";
import { leaseCaching } from "../deployment.js";
import { defineObject, definitionOf } from "./definition.js";

class Shelf {
  _count = 0;
  size(): number {
    return this._count;
  }
  get isEmpty(): boolean {
    return this._count === 0;
  }
  _grow(): void {
    this._count += 1;
  }
}

@sapphire("TodoList", { devices: "hold", version: 3 })
class TodoList extends Shelf {
  items: string[] = [];
  @read()
  list(): string[] {
    return this.items;
  }
  @args(z.tuple([z.string()]))
  add(text: string): void {
    this.items.push(text);
  }
  @read()
  @args(z.tuple([z.number()]))
  at(index: number): string | undefined {
    return this.items[index];
  }
}

class Plain extends Shelf {
  items: string[] = [];
  list(): string[] {
    return this.items;
  }
  add(text: string): void {
    this.items.push(text);
  }
  at(index: number): string | undefined {
    return this.items[index];
  }
}

test("decorators say what defineObject says, and private names and getters cannot be called", () => {
  defineObject("Plain", Plain, {
    devices: "hold",
    version: 3,
    read: ["list", "at"],
    args: { add: z.tuple([z.string()]), at: z.tuple([z.number()]) },
  });
  const shapes = [TodoList, Plain].map((type) => {
    const { name: _name, prototype, methods, reads, parsers, ...rest } = definitionOf(type) ?? assert.fail();
    assert.equal(prototype, type.prototype);
    return { ...rest, methods: [...methods.keys()].sort(), reads: [...reads].sort(), parsers: [...parsers.keys()].sort() };
  });
  const expected = { version: 3, devices: "hold", managers: "", methods: ["add", "at", "list", "size"], reads: ["at", "list"], parsers: ["add", "at"] };
  assert.deepEqual(shapes, [expected, expected]);
});

test("a class that extends one of objects is none until it is defined", () => {
  class Child extends TodoList {}
  assert.equal(definitionOf(Child), undefined);
  assert.equal(definitionOf(undefined), undefined);
});

test("a definition that cannot be is refused, and says why", () => {
  const define = (name: unknown, options: unknown, type: unknown = class extends Plain {}): (() => void) => {
    return () => defineObject(name as string, type as typeof Plain, options as object);
  };
  assert.throws(define("", {}), /1 to 64 bytes/);
  assert.throws(define("ü".repeat(33), {}), /1 to 64 bytes/);
  assert.throws(define("A", { device: "hold" }), /no option "device"/);
  assert.throws(define("A", { devices: "own" }), /"call", "read" or "hold"/);
  assert.throws(define("A", { version: 0 }), /from 1/);
  assert.throws(define("A", { managers: leaseCaching() }), /a list of managers/);
  assert.throws(() => leaseCaching({ leaseMs: 0.5 }), /whole number/);
  assert.throws(define("A", { read: ["lst"] }), /no method "lst"/);
  assert.throws(define("A", { args: { _grow: z.tuple([]) } }), /no method "_grow"/);
  assert.throws(define("A", {}, {}), /needs a class/);
  assert.throws(define("A", {}, class { then(): void {} }), /cannot have a method then/);
});
