/** A small app that the tests work on: every column type, and mutators that do right and wrong. */

import { z } from "zod";

import { Abort, asId, defineMutators, defineSchema, type Id, live, mutator, s, table } from "../index.js";

export const schema = defineSchema({
  notes: table({
    id: s.id(),
    title: s.string(),
    size: s.int().default(3),
    big: s.int64().optional(),
    ratio: s.float().optional(),
    done: s.bool().default(false),
    picture: s.bytes().optional(),
    votes: s.counter(),
    tags: s.set(s.string()),
    log: s.list(s.int(), { order: "commit" }),
    meta: s.map(s.string()),
    owner: s.register(s.string()).optional(),
  }),
  messages: table({ room: s.string(), at: s.int(), text: s.string() }).key("room", "at"),
  hits: live(s.counter()),
});

const page = z.object({ page: z.string() });

export const mutators = defineMutators(schema, {
  hit: mutator(page, (tx, args) => tx.hits.ref(args.page).increment()),
  addNote: mutator(z.object({ id: z.string().transform(asId), title: z.string() }), (tx, { id, title }) =>
    tx.notes.insert({ id, title }),
  ),
  fill: mutator((tx, { id }: { id: Id }) => {
    tx.notes.update(id, { size: 4, big: 1n << 62n, ratio: 0.5, done: true, picture: Uint8Array.of(1, 2) });
    const note = tx.notes.ref(id);
    note.votes.increment(5);
    note.votes.decrement();
    note.tags.add("a");
    note.tags.add("b");
    note.tags.delete("a");
    note.log.push(1);
    note.log.push(2);
    note.log.set(0, 7);
    note.meta.set("k", "v");
    note.meta.set("gone", "x");
    note.meta.delete("gone");
    note.owner.set("me");
  }),
  say: mutator((tx, args: { room: string; at: number; text: string }) => tx.messages.insert(args)),
  /** Only while nobody hit that page. */
  claim: mutator(page, (tx, args) => {
    if (tx.hits.ref(args.page).get() > 0) {
      throw new Abort(`${args.page} is taken`);
    }
    tx.hits.ref(args.page).increment();
  }),
  setSize: mutator((tx, args: { id: Id; size: number }) => tx.notes.update(args.id, { size: args.size })),
  countTo: mutator((tx, args: { page: string; by: number }) => tx.hits.ref(args.page).increment(args.by)),
  wait: mutator(async (tx) => {
    await Promise.resolve();
    tx.hits.range();
  }),
  roll: mutator((tx) => tx.hits.ref(`page ${Math.random()}`).increment()),
  stamp: mutator((tx) => tx.hits.ref(`page ${new Date().getTime()}`).increment()),
  drawFairly: mutator((tx) => tx.hits.ref(`page ${tx.random()} ${tx.now()} ${tx.newId()}`).increment()),
});
