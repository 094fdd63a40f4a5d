/** Causal tables that merge: their canonical JSON, and which ones there cannot be. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { type Column, defineSchema, s, SchemaError, table } from "../index.js";
import { platform } from "../platform/node.js";
import { canonicalSchema } from "../wasm/iolite_wasm.js";

before(() => platform.loadCore());

const columns = { id: s.string(), by: s.string(), name: s.register(s.string()), tags: s.set(s.int(), { wins: "adds" }), visits: s.counter() };

function problemOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof SchemaError, String(error));
    return error.message;
  }
  return "";
}

test("a causal table merges unless it says otherwise, and every way to say so is one schema", () => {
  const schemas = [
    table(columns).causal(),
    table(columns).causal({}),
    table(columns).causal({ onConflict: "merge", rows: "updates-win" }),
  ].map((each) => defineSchema({ people: each.index("byName", ["name"]) }).json);
  assert.equal(schemas[0], canonicalSchema(schemas[0] ?? ""));
  assert.match(schemas[0] ?? "", /"consistency":"causal".*"onConflict":"merge","rows":"updates-win"/);
  assert.deepEqual(new Set(schemas).size, 1);
  const { json } = defineSchema({ people: table({ id: s.string() }).causal({ onConflict: "manual" }) });
  assert.equal(json, canonicalSchema(json));
  assert.doesNotMatch(json, /rows/);
});

test("what cannot merge is an error that says what to do, by the words of the core", () => {
  const wrong: readonly (readonly [Column, string])[] = [
    [s.list(s.int()), "a table that merges has no lists, whose order is that of one store: make each element a row"],
    [s.map(s.int()), "maps that merge are not built yet: make each entry a row"],
    [s.text(), "texts that merge are not built yet: take a register, or a strong table"],
    [s.blob(), 'a table that merges has no blobs, whose chunks are leased from one store: make the table .causal({ onConflict: "manual" })'],
  ];
  for (const [column, problem] of wrong) {
    const all = { ...columns, x: column };
    assert.equal(problemOf(() => defineSchema({ people: table(all).causal() })), `table "people", column "x": ${problem}`);
    const strong = JSON.parse(defineSchema({ people: table(all) }).json) as { tables: { people: Record<string, unknown> } };
    const { isolation: _, ...people } = strong.tables.people;
    const told = problem.replace('.causal({ onConflict: "manual" })', 'onConflict "manual"');
    assert.throws(() => canonicalSchema(JSON.stringify({ tables: { people: { ...people, consistency: "causal" } } })), new RegExp(escaped(told)));
  }
  assert.match(problemOf(() => defineSchema({ people: table(columns).delivered().causal() })), /"people": .* has no delivered view: leave out/);
  assert.match(problemOf(() => defineSchema({ people: table(columns).causal().offline("refuse") })), /takes changes offline: leave out/);
  assert.match(problemOf(() => defineSchema({ people: table(columns).causal().isolation("snapshot") })), /causal has no isolation to choose/);
});

test("options that are not there are refused where they are given", () => {
  const causal = (options: unknown) => problemOf(() => table(columns).causal(options as never));
  assert.match(causal({ rows: "deletes-win" }), /rows where deletes win are not built yet: say rows "updates-win"/);
  assert.match(causal({ rows: "all" }), /rows is updates-win, not "all"/);
  assert.match(causal({ onConflict: "manual", rows: "updates-win" }), /rows belongs to tables that merge/);
  assert.match(causal({ onConflict: "latest" }), /onConflict is manual or merge, not "latest"/);
  assert.match(causal({ onconflict: "manual" }), /causal has no option "onconflict": there are onConflict, rows/);
  const set = (wins: string) => problemOf(() => s.set(s.int(), { wins } as never));
  assert.match(set("removes"), /sets where removes win are not built yet: leave out wins/);
  assert.match(set("all"), /wins is adds, not "all"/);
});

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
