import assert from "node:assert/strict";
import { before, test } from "node:test";

import { defineSchema, s, table } from "../index.js";
import { openWriter } from "../arguments/module.js";
import { platform } from "../platform/node.js";

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
