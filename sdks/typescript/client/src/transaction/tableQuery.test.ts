import assert from "node:assert/strict";
import { test } from "node:test";

import { s, TransactionError } from "../index.js";
import type { Core } from "../wasm/iolite_wasm.js";
import type { TableBinding } from "./binding.js";
import { Scope } from "./scope.js";
import { TableAccess } from "./tableAccess.js";

const columns = { id: s.id(), title: s.string(), big: s.int64(), ratio: s.float().optional(), raw: s.bytes(), tags: s.set(s.string()) };
const table: TableBinding = {
  name: "notes",
  number: 3,
  live: false,
  ofLog: false,
  blobs: [],
  columns: Object.keys(columns),
  definitions: Object.values(columns),
  key: ["id"],
};

function asking(rows: unknown[][] = []): { notes: TableAccess; asked: unknown[] } {
  const asked: unknown[] = [];
  const core = {
    ask: (number: number, question: string) => {
      asked.push([number, JSON.parse(question)]);
      return rows;
    },
  };
  return { notes: new TableAccess(new Scope(core as unknown as Core, { traced: false }), table), asked };
}

test("a query says what is asked, and gives rows by column names", () => {
  const { notes, asked } = asking([["1", "a", 5n, 0.5, Uint8Array.of(), new Set()]]);
  const query = notes.where({ title: { startsWith: "a", not: "ab" }, tags: { contains: "x" } }).where({ title: { not: "ac" } });
  const [row] = query.orderBy("title", "desc").orderBy("id").limit(20).all() as Record<string, unknown>[];
  assert.deepEqual([row?.["title"], row?.["big"]], ["a", 5n]);
  const where = [
    ["title", { startsWith: "a" }],
    ["title", { not: "ab" }],
    ["tags", { contains: "x" }],
    ["title", { not: "ac" }],
  ];
  const orderBy = [["title", "desc"], ["id", "asc"]];
  assert.deepEqual(asked, [[3, { where, orderBy, limit: 20 }]]);
});

test("alternatives are each asked with all of their conditions, beside what else is asked", () => {
  const { notes, asked } = asking();
  const query = notes.whereAny({ title: { startsWith: "a", not: "ab" }, big: 5n }, { tags: { contains: "x" } });
  query.where({ ratio: null }).whereAny({ title: "b" }).whereAny().all();
  query.all();
  notes.where({ ratio: null }).whereAny({ big: 1n }, { big: 2n }).all();
  const first = [
    [
      ["title", { startsWith: "a" }],
      ["title", { not: "ab" }],
      ["big", { eq: "5" }],
    ],
    [["tags", { contains: "x" }]],
  ];
  assert.deepEqual(asked, [
    [3, { where: [["ratio", { eq: null }]], anyOf: [first, [[["title", { eq: "b" }]]], []], orderBy: [] }],
    [3, { where: [], anyOf: [first], orderBy: [] }],
    [3, { where: [["ratio", { eq: null }]], anyOf: [[[["big", { eq: "1" }]], [["big", { eq: "2" }]]]], orderBy: [] }],
  ]);
});

test("values of every type go as the core reads them", () => {
  const { notes, asked } = asking();
  notes.where({ big: 1n << 62n, ratio: { lt: Infinity, in: [0.1, null] }, raw: Uint8Array.of(1, 255), id: { in: ["a"] } }).all();
  const where = [
    ["big", { eq: "4611686018427387904" }],
    ["ratio", { lt: "Infinity" }],
    // No digit of a float is lost.
    ["ratio", { in: ["0.1", null] }],
    ["raw", { eq: "01ff" }],
    ["id", { in: ["a"] }],
  ];
  assert.deepEqual(asked, [[3, { where, orderBy: [] }]]);
});

test("bytes are asked for by what they are, whatever class of bytes they have", () => {
  const { notes, asked } = asking();
  class Own extends Uint8Array {}
  const raw = [Buffer.from([1, 255]), Own.of(1, 255), new Uint8Array([0, 1, 255]).subarray(1)];
  for (const bytes of raw) {
    notes.where({ raw: bytes }).where({ raw: { gt: bytes, in: [bytes] } }).orderBy("raw").after({ id: "1", raw: bytes }).all();
  }
  const where = [
    ["raw", { eq: "01ff" }],
    ["raw", { gt: "01ff" }],
    ["raw", { in: ["01ff"] }],
  ];
  assert.deepEqual(asked, raw.map(() => [3, { where, orderBy: [["raw", "asc"]], after: { id: "1", raw: "01ff" } }]));
});

test("undefined is refused wherever it would ask less than was meant, and the message names the column", () => {
  const { notes, asked } = asking();
  const refused = { name: "TransactionError", code: "transaction", message: /column "ratio" is (asked for|compared by "[a-z]+" with) undefined/ };
  for (const ratio of [undefined, { gt: undefined }, { gte: undefined, lt: undefined }, { gt: 1, lt: undefined }, { gt: undefined, lt: 1 }]) {
    assert.throws(() => notes.where({ ratio }), refused);
    assert.throws(() => notes.where({ title: "a", ratio }), refused);
    assert.throws(() => notes.whereAny({ title: "a", ratio }), refused);
  }
  assert.throws(() => notes.where({ nowhere: undefined }), /has no column "nowhere"/);
  // Who means all of them leaves it out.
  notes.where({}).all();
  assert.deepEqual(asked, [[3, { where: [], orderBy: [] }]]);
});

test("conditions are a plain object: of anything else nothing would be asked", () => {
  const { notes } = asking();
  for (const conditions of [undefined, null, 5, "a", [], new Map([["title", "a"]]), new Date(), () => 1, Symbol("a")]) {
    const refused = { code: "transaction", message: /of table "notes": what is asked is a plain object/ };
    assert.throws(() => notes.where(conditions as never), refused);
    assert.throws(() => notes.whereAny(conditions as never), refused);
  }
});

test("a value of another type than its column is refused, and the message names the column", () => {
  const { notes } = asking();
  const wrong: Record<string, unknown[]> = {
    title: [5, 5n, true, null, Symbol("a")],
    big: ["1", 0.5, true, null, NaN, Infinity],
    ratio: ["0.5", 1n, NaN, false],
    raw: ["00", [1], null],
    id: [1, null],
  };
  for (const [column, values] of Object.entries(wrong)) {
    for (const value of values) {
      const refused = { code: "transaction", message: new RegExp(`table "notes", column "${column}" .*is asked for`) };
      assert.throws(() => notes.where({ [column]: value }), refused, String(value));
      assert.throws(() => notes.where({ [column]: { lt: value } }), refused, String(value));
      assert.throws(() => notes.where({ [column]: { in: [value] } }), refused, String(value));
    }
  }
  assert.throws(() => notes.where({ tags: { contains: 1 } }), /column "tags" is a string: 1 is asked for/);
  assert.throws(() => notes.where({ big: 2 ** 53 }), { code: "integer-range", message: /column "big"/ });
  assert.throws(() => notes.where({ title: { in: ["a", , "b"] } } as never), /column "title"\[1\] is a hole/);
});

test("options of a range that are misspelt, undefined or no bounds are refused, and the message names them", () => {
  const { notes } = asking();
  assert.throws(() => notes.range({ prefx: ["a"] } as never), { code: "transaction", message: /range of table "notes" has no option "prefx"/ });
  for (const option of ["prefix", "from", "after", "to"]) {
    for (const bound of [null, 2, "a", { 0: "a", length: 1 }, new Set(["a"]), Uint8Array.of(1)]) {
      assert.throws(() => notes.range({ [option]: bound } as never), { code: "transaction", message: new RegExp(`: ${option} is an array`) });
    }
  }
  for (const option of ["prefix", "from", "after", "to", "limit", "reverse"]) {
    assert.throws(() => notes.range({ [option]: undefined } as never), { code: "transaction", message: new RegExp(`the option "${option}" is undefined`) });
  }
  assert.throws(() => notes.range({ from: ["a", , "b"] } as never), /from\[1\] is a hole/);
  assert.throws(() => notes.range({ reverse: 1 } as never), /reverse is true or false, not 1/);
  for (const options of [null, 5, [], "a"]) {
    assert.throws(() => notes.range(options as never), { code: "transaction", message: /range of table "notes" is a plain object/ });
  }
});

test("an update of a column to undefined is refused, and the message names the column", () => {
  const { notes } = asking();
  assert.throws(() => notes.update("1", { title: undefined }), { code: "transaction", message: /column "title" is undefined/ });
  for (const changes of [undefined, null, 5, new Map()]) {
    assert.throws(() => notes.update("1", changes as never), { code: "transaction", message: /update of table "notes": what is given/ });
  }
});

test("half of a character is refused where it is asked for, and whole ones are not", () => {
  const { notes, asked } = asking();
  const refused = { name: "TransactionError", message: /column "title".* half of a character/ };
  for (const half of ["\ud800", "a\udc00b", "\udc00\ud800"]) {
    for (const title of [half, { eq: half }, { lt: half }, { in: ["a", half] }, { startsWith: half }]) {
      assert.throws(() => notes.where({ title }), refused);
    }
    assert.throws(() => notes.where({ tags: { contains: half } }), /column "tags".* half of a character/);
    assert.throws(() => notes.orderBy("title").after({ id: "1", title: half }), refused);
  }
  notes.where({ title: "\u{10000}\ufffd" }).all();
  assert.deepEqual(asked, [[3, { where: [["title", { eq: "\u{10000}\ufffd" }]], orderBy: [] }]]);
});

test("the first row asks for one, a count for all that are within the limit, and a query can be used twice", () => {
  const { notes, asked } = asking([["1"], ["2"]]);
  const query = notes.orderBy("title");
  assert.equal((query.first() as { id: string }).id, "1");
  assert.equal(query.count(), 2);
  query.limit(0).first();
  const limits = asked.map((each) => (each as [number, { limit?: number }])[1].limit);
  assert.deepEqual(limits, [1, undefined, 0]);
});

test("after a row asks for what comes after its place, and after none for everything", () => {
  const { notes, asked } = asking();
  const row = { id: "1", title: "a", big: 5n, ratio: 0.1, raw: Uint8Array.of(1), tags: new Set(["x"]), selected: true };
  const query = notes.orderBy("title").after(row);
  query.all();
  query.after(undefined).all();
  const after = { id: "1", title: "a", big: "5", ratio: "0.1", raw: "01" };
  const orderBy = [["title", "asc"]];
  assert.deepEqual(asked, [
    [3, { where: [], orderBy, after }],
    [3, { where: [], orderBy }],
  ]);
});

test("a limit is as many rows as the core can count", () => {
  const { notes } = asking();
  for (const limit of [-1, 0.5, NaN, 2 ** 32]) {
    const refused = { code: "transaction", message: /limit.* is a whole number/ };
    assert.throws(() => notes.orderBy("title").limit(limit), refused);
    assert.throws(() => notes.range({ limit }), refused);
  }
  notes.orderBy("title").limit(2 ** 32 - 1);
});

test("mistakes are errors at once", () => {
  const { notes } = asking();
  assert.throws(() => notes.where({ titel: "a" }), TransactionError);
  assert.throws(() => notes.orderBy("titel"), TransactionError);
  for (const row of [null, "1", ["1"], { title: "a" }]) {
    assert.throws(() => notes.orderBy("title").after(row as never), { name: "TransactionError", message: /which has id/ });
  }
  assert.throws(() => notes.orderBy("title", "down" as "desc"), TransactionError);
  assert.throws(() => notes.where({ title: { like: "a" } }), TransactionError);
  const within = [{ eq: new Date() }, { in: [undefined] }, { in: new Set(["a"]) }, { not: { a: 1 } }];
  for (const asked of [new Date(), new Set(["a"]), new Map([["eq", "a"]]), ["a"], [], {}, { undefined }, ...within]) {
    assert.throws(() => notes.where({ title: asked }), { name: "TransactionError", message: /column "title"/ }, JSON.stringify(asked));
  }
  assert.throws(() => notes.whereAny({ title: "a" }, {}), { name: "TransactionError", message: /"notes" asks nothing/ });
  assert.throws(() => notes.whereAny({ title: "a" }, { titel: "a" }), TransactionError);
  const live = new TableAccess({} as Scope, { ...table, live: true });
  assert.throws(() => live.where({}), TransactionError);
  assert.throws(() => live.whereAny({ title: "a" }), TransactionError);
});
