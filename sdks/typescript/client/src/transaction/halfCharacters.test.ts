import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { openWriter } from "../arguments/module.js";
import { defineMutators, defineSchema, live, mutator, newId, s, table } from "../index.js";
import { platform } from "../platform/node.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";

before(() => platform.loadCore());

const columns = { id: s.string(), title: s.string(), tags: s.set(s.string()), marks: s.map(s.string()) };

test("half of a character is written nowhere: not as a value, a member, or an entry, and no key has it", () => {
  const names = Object.keys(columns);
  const writer = openWriter(defineSchema({ notes: table(columns).key("id") }).json);
  const number = writer.addTable("notes", names, names.map(() => false));
  const write = (call: string, key: string, column: string, ...given: [unknown, unknown?]): void =>
    writer.write(call, number, [key], names.indexOf(column), given[0], given[1]);
  for (const half of ["\ud800", "a\udc00b\ufffd", "\udc00\ud800"]) {
    for (const refused of [
      () => write("put", half, "title", "a"),
      () => write("put", "1", "title", half),
      () => write("setMember", "1", "tags", half, true),
      () => write("setEntry", "1", "marks", half, "a"),
      () => write("setEntry", "1", "marks", "a", half),
    ]) {
      assert.throws(refused, /transaction\n.*half of a character/);
    }
  }
  write("put", "\u{10000}", "title", "\u{10000}\ufffd");
  assert.match(writer.take(), /\u{10000}\ufffd/u);
});

const texts = defineSchema({ notes: table({ id: s.id(), body: s.text() }), pad: live(s.text()) });

const mutators = defineMutators(texts, {
  note: mutator((tx, { id, body }: { id: string; body: string }) => tx.notes.insert({ id: id as never, body })),
  type: mutator((tx, { text }: { text: string }) => tx.pad.ref("a").insert(0, text)),
  over: mutator((tx, { text }: { text: string }) => tx.pad.ref("a").splice(0, 1, text)),
});

describe("half of a character", () => {
  const open = servedApps({ name: "halves", schema: texts, mutators });
  const message = /column "value".*half of a character/;
  const refusal = { code: "transaction", message };
  // As with any mistake in a closure, the call never began.
  const cancelled = { code: "cancelled", message };

  test("is inserted into no text by a live binding, and the first of two calls that cut a character says so", async () => {
    const app = await open();
    const pad = app.live.pad("live");
    const stop = pad.onChange(() => undefined);
    await until("the text", () => pad.written !== undefined);
    for (const half of ["\ud83d", "\ude00", "a\ud83db", "\ude00\ud83d"]) {
      assert.throws(() => pad.insert(0, half), refusal);
      assert.throws(() => pad.splice(0, 0, half), refusal);
    }
    await pad.insert(0, "\ud83d\ude00\ufffd").until("confirmed");
    assert.throws(() => pad.splice(1, 1, ""), { code: "transaction" });
    assert.throws(() => pad.insert(1, "x"), { code: "transaction" });
    assert.equal(pad.written, "\u{1f600}\ufffd");
    assert.deepEqual(app.pending, [], "nothing of it was called");
    stop();
  });

  test("is inserted into no text by a mutator, nor does a text begin with it", async () => {
    const app = await open();
    await app.mutate.type({ text: "\u{1f600}" }).until("confirmed");
    for (const text of ["h\ud83d", "\ude00"]) {
      await assert.rejects(app.mutate.type({ text }).until("confirmed"), cancelled);
      await assert.rejects(app.mutate.over({ text }).until("confirmed"), cancelled);
      const id = newId();
      await assert.rejects(app.mutate.note({ id, body: text }).until("confirmed"), { code: "cancelled", message: /column "body".*half of a character/ });
      assert.equal(await app.read((tx) => tx.notes.get(id)), undefined);
    }
    assert.equal(await app.read((tx) => tx.pad.get("a")), "\u{1f600}");
  });
});
