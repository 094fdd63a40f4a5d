import assert from "node:assert/strict";
import { test } from "node:test";

import { areEqual, shared } from "./equality.js";

test("data is equal by what it holds", () => {
  const make = (last: number): unknown => ({ a: [1n, new Set(["x"]), new Map([["k", { v: Uint8Array.of(last) }]])] });
  assert.ok(areEqual(make(1), make(1)));
  assert.ok(!areEqual(make(1), make(2)));
  assert.ok(!areEqual([1], [1, 2]));
  assert.ok(!areEqual({ a: 1 }, { b: 1 }));
  assert.ok(!areEqual(null, {}));
  assert.ok(areEqual(NaN, NaN));
});

test("what did not change keeps its identity", () => {
  const before = { rows: [{ id: 1, tags: new Set(["a"]) }, { id: 2, tags: new Set(["b"]) }], count: 2 };
  const after = shared(before, {
    rows: [{ id: 1, tags: new Set(["a"]) }, { id: 2, tags: new Set(["c"]) }],
    count: 2,
  }) as typeof before;
  assert.equal(after.rows[0], before.rows[0]);
  assert.notEqual(after.rows[1], before.rows[1]);
  assert.equal(shared(before, structuredClone(before)), before);
  assert.notEqual(shared([1, 2], [1]), undefined);
  assert.deepEqual(shared([1, 2], [1]), [1]);
});

test("what is in two places stays one", () => {
  const [a, b] = [{ id: 1 }, { id: 2 }];
  const [c, d] = [{ id: 1 }, { id: 2 }];
  const other = shared({ all: [a, b], selected: a }, { all: [c, d], selected: d }) as { all: object[]; selected: object };
  assert.deepEqual([other.all[0] === a, other.all[1] === b, other.selected === b], [true, true, true]);
  const edited = Object.freeze({ id: 2, title: "new" });
  const after = shared(other, { all: [c, edited], selected: edited }) as typeof other;
  assert.deepEqual([after.all[0] === a, after.all[1] === after.selected, Object.isFrozen(after.selected)], [true, true, true]);
});

test("what cannot be walked through is no error, and never taken for what was before", () => {
  const circle = (name: string): unknown => {
    const own: Record<string, unknown> = { name };
    return Object.assign(own, { own, map: new Map([["own", own]]) });
  };
  const next = circle("b");
  assert.equal(shared(circle("a"), next), next);
  const map = new Map([["key", circle("b")]]);
  assert.equal(shared(new Map([["key", circle("b")]]), map), map);
  assert.ok(!areEqual(circle("a"), circle("b")));
  assert.ok(areEqual(circle("a"), circle("a")));
  const thrower = { get part(): never { throw new Error("mine"); } };
  assert.equal(shared({ part: 1 }, thrower), thrower);
});

test("an object of a class of the app's is never taken for the one before it, wherever it is", () => {
  class Point {
    constructor(readonly x: number) {}
  }
  const before = { list: [new Point(1)], map: new Map([["a", new Point(1)]]), set: new Set([new Point(1)]) };
  const next = { list: [new Point(2)], map: new Map([["a", new Point(2)]]), set: new Set([new Point(2)]) };
  assert.deepEqual(shared(before, next), next);
  assert.ok(areEqual(before, next), "two runs make two of them");
});
