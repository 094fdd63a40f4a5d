/** Types of a log: what the compiler infers, and what it refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Client, defineLog, defineSchema, type Log, type MutationHandle, operation, type Parser, s, table } from "./index.js";

const parser: Parser<{ at: string }> = { parse: (input) => input as { at: string } };
const tables = { cells: table({ sheet: s.string(), at: s.string(), text: s.string() }).key("sheet", "at") };

const operations = {
  header: operation(() => undefined),
  clear: operation(parser, (_tx, { at }) => void at),
};

const sheet = defineLog(
  "sheet",
  tables,
  {
    ...operations,
    setCell: operation((tx, { at, text }: { at: string; text: string }) => {
      tx.cells.put({ at, text });
      tx.cells.insert({ sheet: tx.instance, at, text });
      const whole: string | undefined = (tx.cells.get([at]) ?? tx.cells.get(["budget", at]))?.text;
      const rows = tx.cells.range({ prefix: [whole ?? at] }).map((row): string => row.sheet);
      // @ts-expect-error an operation has no queries yet
      tx.cells.where({ text: "x" });
      // @ts-expect-error there is no such column
      tx.cells.insert({ at, txt: text });
      // @ts-expect-error a row needs the rest of its key
      tx.cells.put({ text });
      // @ts-expect-error bounds leave the instance out
      tx.cells.range({ prefix: [tx.instance, at] });
      // @ts-expect-error the instance is a string
      const wrong: number = tx.instance;
      void [rows, wrong];
      // @ts-expect-error an operation has the tables of its log only
      tx.plain.insert({ id: "a" });
    }),
  },
  { initial: "header" },
);

// @ts-expect-error it begins with one of its operations
assert.throws(() => defineLog("other", tables, operations, { initial: "unheardOf" }));
// @ts-expect-error which has no arguments
defineLog("other", tables, operations, { initial: "clear" });

const schema = defineSchema({ plain: table({ id: s.string() }), ...sheet.tables });

function calls(db: Client<typeof schema>): void {
  const log = db.log(sheet, "budget");
  const handle: MutationHandle = log.do.setCell({ at: "B2", text: "4" });
  log.do.header();
  log.leave();
  log.do.clear({ at: "B2" });
  // @ts-expect-error an argument is missing
  log.do.setCell({ at: "B2" });
  // @ts-expect-error it is a string
  log.do.setCell({ at: "B2", text: 4 });
  // @ts-expect-error it has arguments
  log.do.setCell();
  // @ts-expect-error there is no such operation
  log.do.unknown();
  // @ts-expect-error an instance is a value of the first key column
  db.log(sheet, 5);
  const text: Promise<string | undefined> = db.read((tx) => tx.cells.get(["budget", "B2"])?.text);
  const [position, stopped]: [number, string | undefined] = [log.position, log.stopped];
  const any: Log = log;
  void [handle, text, position, stopped, any];
}

test("the compiler has checked the types of this file", () => {
  assert.equal(typeof calls, "function");
});
