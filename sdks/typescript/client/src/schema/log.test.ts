import assert from "node:assert/strict";
import { before, test } from "node:test";

import { platform } from "#platform";

import { defineLog, defineMutators, defineSchema, live, mutator, operation, s, SchemaError, table } from "../index.js";
import { canonicalSchema } from "../wasm/iolite_wasm.js";

const sheet = defineLog(
  "sheet",
  { cells: table({ sheet: s.string(), at: s.string(), text: s.string() }).key("sheet", "at"), edits: live(s.counter()) },
  { header: operation((tx) => tx.edits.ref("budget").increment()) },
  { initial: "header" },
);
const schema = defineSchema({ plain: table({ id: s.string() }), ...sheet.tables });
const marks = { marks: table({ sheet: s.string(), at: s.string() }).key("sheet", "at") };

before(() => platform.loadCore());

test("the JSON of a schema names the log of each table, and what it begins with", () => {
  const json = JSON.parse(schema.json);
  assert.deepEqual(json.logs, { sheet: { initial: "header" } });
  const policies = ["cells", "edits", "plain"].map((name) => [json.tables[name].consistency, json.tables[name].log]);
  assert.deepEqual(policies, [["log", "sheet"], ["log", "sheet"], ["strong", undefined]]);
  assert.equal(JSON.parse(defineSchema(defineLog("m", marks, {}).tables).json).logs, undefined);
});

test("the JSON of a schema with logs is canonical", () => {
  assert.equal(canonicalSchema(schema.json), schema.json);
});

test("what makes no log is refused", () => {
  const refused = (make: () => unknown, message: RegExp): void =>
    assert.throws(make, (error) => error instanceof SchemaError && message.test(error.message));
  refused(() => defineLog("", marks, {}), /its name is a string/);
  refused(() => defineLog("m", {}, {}), /it needs a table/);
  refused(() => defineLog("m", { marks: {} as never }, {}), /make its table "marks" with/);
  refused(() => defineLog("m", marks, { set: (() => undefined) as never }), /operation\(\(tx, args\)/);
  refused(() => defineLog("m", marks, {}, { initial: "none" as never }), /none of its operations/);
  refused(() => defineLog("m", sheet.tables, {}), /of the log "sheet" already/);
});

test("a schema has the tables of a log all together, under their names", () => {
  const refused = (make: () => unknown, message: RegExp): void =>
    assert.throws(make, (error) => error instanceof SchemaError && message.test(error.message));
  refused(() => defineSchema({ squares: sheet.tables.cells }), /under another name/);
  refused(() => defineSchema({ cells: sheet.tables.cells }), /lacks the table "edits"/);
  refused(() => defineSchema({ ...sheet.tables, ...defineLog("sheet", marks, {}).tables }), /two logs of that name/);
  assert.throws(() => defineMutators(schema, { "sheet.header": mutator(() => undefined) }), /an operation of a log is called that/);
});
