import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";

import { defineSchema, live, s, SchemaError, table } from "../index.js";
import { platform } from "../platform/node.js";
import { schema } from "../testing/notesApp.js";
import { canonicalSchema, schemaHash } from "../wasm/iolite_wasm.js";

before(() => platform.loadCore());

test("a schema's JSON is the core's canonical JSON, and has the core's hash", () => {
  assert.equal(schema.json, canonicalSchema(schema.json));
  const hash = createHash("sha256").update(schema.json).digest().subarray(0, 16).toString("hex");
  assert.equal(schemaHash(schema.json), hash);
});

test("defaults of every type that has some are canonical too", () => {
  const { json } = defineSchema({
    t: table({
      id: s.id().default("0".repeat(31) + "a" as never).optional(),
      key: s.string(),
      a: s.bool().default(true),
      b: s.int().default(-5),
      c: s.int64().default(7n),
      d: s.string().default('x"\n\u2028ü'),
      e: s.float().default(0.5),
      f: s.register(s.int()).default(1),
    }).key("key"),
    u: table({ a: s.int(), b: s.bytes() }).key("a", "b").offline("refuse"),
    v: live(s.set(s.id()), { key: s.int() }),
    w: live(s.counter(), { isolation: "read-committed", offline: "refuse" }),
    x: table({ id: s.id() }).isolation("snapshot"),
    y: table({ id: s.id(), owner: s.string(), at: s.int(), votes: s.counter() })
      .index("newest", ["at"])
      .index("byOwner", ["owner", "votes", "id"])
      .offline("refuse"),
  });
  assert.equal(json, canonicalSchema(json));
});

test("a table without a key, and one with a transaction's own name, are refused", () => {
  assert.throws(() => defineSchema({ t: table({ a: s.int() }) }), SchemaError);
  assert.throws(() => table({ id: s.id() }).index("a", ["id"]).index("a", ["id"]), SchemaError);
  assert.throws(() => defineSchema({ now: live(s.counter()) }), SchemaError);
});
