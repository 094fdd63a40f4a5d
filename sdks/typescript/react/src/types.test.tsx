/** What the compiler infers for hooks once an app has said which client they work on. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createClient, defineMutators, defineSchema, mutator, s, table } from "@iolite/client";

import { useMutation, useReactive } from "./index.js";

const schema = defineSchema({ notes: table({ id: s.id(), title: s.string() }) });
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

test("the compiler has checked the types of this file", () => {
  assert.equal(typeof Notes, "function");
});
