/** What the compiler infers for hooks once an app has said which client they work on. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient, defineLog, defineMutators, defineSchema, type Id, live, type MutationHandle, mutator, operation, s, table } from "@iolite/client";

import { CheckBox, LiveList, TextBox, useLive, useLog, useMutation, useReactive, useView } from "./index.js";

const sheet = defineLog(
  "sheet",
  { cells: table({ sheet: s.string(), at: s.string(), text: s.string() }).key("sheet", "at") },
  { write: operation((tx, { at, text }: { at: string; text: string }) => tx.cells.put({ at, text })) },
);
const schema = defineSchema({
  ...sheet.tables,
  notes: table({ id: s.id(), title: s.string(), done: s.bool(), tags: s.list(s.string()) }),
  hits: live(s.counter()),
  timelines: live(s.list(s.id())),
});
const mutators = defineMutators(schema, { clear: mutator((tx, args: { keep: number }) => tx.notes.range({ limit: args.keep })) });
const open = () => createClient({ url: "", token: "", name: "", user: "", schema, mutators });

declare module "@iolite/react" {
  interface Register {
    client: Awaited<ReturnType<typeof open>>;
  }
}

function Notes() {
  const { data } = useReactive((tx) => tx.notes.range().map(({ title }) => title), []);
  // @ts-expect-error there is no such column
  useReactive((tx) => tx.notes.range().map(({ text }) => text), []);
  const clear = useMutation("clear");
  // @ts-expect-error there is no such mutator
  useMutation("clean");
  clear({ keep: 1 });
  // @ts-expect-error it is a number
  clear({ keep: "1" });
  const titles: readonly string[] | undefined = data;
  return titles;
}

function Cells() {
  const { log, stopped, error } = useLog(sheet, "budget", { leaveOnUnmount: true });
  // @ts-expect-error an instance is a string
  useLog(sheet, 5);
  const handle: MutationHandle | undefined = log?.do.write({ at: "B2", text: "4" });
  // @ts-expect-error there is no such operation
  log?.do.clear();
  // @ts-expect-error its argument lacks the text
  log?.do.write({ at: "B2" });
  const { data } = useView((tx) => tx.cells.get(["budget", "B2"])?.text, { view: "confirmed" });
  const told: readonly (string | undefined)[] = [data, stopped, error?.message];
  return [handle?.id, ...told];
}

function Bound({ id }: { id: Id }) {
  const hits = useLive((live) => live.hits("home"), []);
  const total: number | undefined = hits.data;
  hits.live.increment(2);
  // @ts-expect-error a counter is no text
  hits.live.set("2");
  // @ts-expect-error there is no such column
  useLive((live) => live.notes(id).text, [id]);
  const note = useLive((live) => live.notes(id).self, [id]);
  const title: string | undefined = note.data?.title;
  note.live.update({ done: true });
  const named = useLive((live) => live.timelines("ann").slice(-20).rows(schema.tables.notes), []);
  const last: string | undefined = named.data?.at(-1)?.title;
  return (
    <>
      <TextBox bind={(live) => live.notes(id).title} deps={[id]} />
      <CheckBox bind={(live) => live.notes(id).done} deps={[id]} />
      {/* @ts-expect-error a truth is no text */}
      <TextBox bind={(live) => live.notes(id).done} />
      <LiveList bind={(live) => live.notes(id).tags.slice(-2)} deps={[id]}>
        {(tag: string) => <i>{tag}</i>}
      </LiveList>
      <LiveList bind={(live) => live.timelines("ann").slice(-20).rows(schema.tables.notes)}>
        {(row) => <i>{row?.title}</i>}
      </LiveList>
      {[total, title, last]}
    </>
  );
}

test("the compiler has checked the types of this file", () => {
  assert.deepEqual([typeof Notes, typeof Cells, typeof Bound], ["function", "function", "function"]);
});
