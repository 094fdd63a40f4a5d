/** What the compiler infers from a schema and mutators, and what it refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Abort, type Client, defineMutators, defineSchema, type Id, live, mutator, type Parser, s, table } from "./index.js";

const schema = defineSchema({
  notes: table({
    id: s.id(),
    title: s.string(),
    done: s.bool().default(false),
    size: s.float().optional(),
    big: s.int64().optional(),
    votes: s.counter(),
    tags: s.set(s.string()),
    log: s.list(s.int(), { order: "commit" }),
    meta: s.map(s.string()),
    owner: s.register(s.string()).optional(),
    mood: s.string().optional().default("calm"),
    tone: s.string().default("calm").optional(),
    guest: s.register(s.string()).optional().default("nobody"),
  }).index("byTitle", ["title", "votes"]),
  messages: table({ room: s.string(), at: s.int(), text: s.string() }).key("room", "at"),
  hits: live(s.counter()),
  badges: live(s.id().optional(), { isolation: "snapshot" }),
  people: table({ id: s.id(), born: s.int(), card: s.id().optional(), status: s.register(s.string()), friends: s.set(s.id()), visits: s.counter() }).causal(),
  drafts: table({ id: s.id(), text: s.string() }).causal({ onConflict: "manual" }),
});

// @ts-expect-error there is no such column
table({ id: s.id(), title: s.string() }).index("byOwner", ["owner"]);
// @ts-expect-error a set has no order
table({ id: s.id(), tags: s.set(s.string()) }).index("byTags", ["tags"]);

const parser: Parser<{ id: Id; by: number }> = { parse: (input) => input as { id: Id; by: number } };

const mutators = defineMutators(schema, {
  like: mutator(parser, (tx, args) => {
    tx.notes.ref(args.id).votes.increment(args.by);
    // @ts-expect-error there is no such column
    tx.notes.ref(args.id).vote;
    // @ts-expect-error there is no such argument
    args.nothing;
  }),
  add: mutator((tx, args: { id: Id; title: string }) => {
    if (tx.notes.has(args.id)) {
      throw new Abort("taken");
    }
    tx.notes.insert({ id: args.id, title: args.title });
    tx.notes.insert({ id: args.id, title: args.title, votes: 2, tags: ["a"], meta: { a: "b" }, owner: null, mood: null, guest: null });
    // @ts-expect-error a title has to be given
    tx.notes.insert({ id: args.id });
    // @ts-expect-error a title is a string
    tx.notes.update(args.id, { title: 1 });
    // @ts-expect-error a counter is not updated but incremented
    tx.notes.update(args.id, { votes: 1 });
    // @ts-expect-error the primary key stays
    tx.notes.update(args.id, { id: args.id });
    // @ts-expect-error a text is not an id
    tx.notes.get("abc");
    tx.messages.range({ prefix: ["kitchen"], limit: 5, reverse: true });
    // @ts-expect-error the key's second column is an int
    tx.messages.range({ prefix: ["kitchen", "x"] });
    const asked = tx.notes.where({ title: "a", done: false, size: null, tags: { contains: "x" }, votes: { gte: 3, lt: 9 } });
    const titles: readonly string[] = asked.orderBy("title", "desc").limit(20).all().map(({ title }) => title);
    const one: string | undefined = tx.notes.where({ title: { startsWith: "a" }, big: { in: [1n, null] } }).first()?.title;
    const either = tx.notes.whereAny({ title: "a", votes: { gte: 3 } }, { tags: { contains: "x" } }).where({ done: false });
    const anyOfMany: string | undefined = either.whereAny(...[1, null].map((size) => ({ size }))).orderBy("title").first()?.title;
    const many: number = tx.messages.orderBy("at").count();
    tx.notes.orderBy("title").after(asked.first()).after({ id: args.id, title: "a" });
    // @ts-expect-error a place is not without the primary key
    tx.notes.orderBy("title").after({ title: "a" });
    // @ts-expect-error a title is a string
    tx.notes.orderBy("title").after({ id: args.id, title: 1 });
    // @ts-expect-error there is no such column
    tx.notes.where({ titel: "a" });
    // @ts-expect-error a title is a string
    tx.notes.where({ title: 1 });
    // @ts-expect-error and compared with strings
    tx.notes.where({ title: { lt: 1 } });
    // @ts-expect-error a number has no beginning
    tx.notes.where({ size: { startsWith: "1" } });
    // @ts-expect-error a title is never null
    tx.notes.where({ title: null });
    // @ts-expect-error a set is asked for a member
    tx.notes.where({ tags: "x" });
    // @ts-expect-error its members are strings
    tx.notes.where({ tags: { contains: 1 } });
    // @ts-expect-error every alternative is of columns that are there
    tx.notes.whereAny({ title: "a" }, { titel: "a" });
    // @ts-expect-error and of their types
    tx.notes.where({ title: "a" }).whereAny({ title: "a" }, { votes: "3" });
    // @ts-expect-error a map is not asked for
    tx.notes.where({ meta: "x" });
    // @ts-expect-error a set has no order
    tx.notes.orderBy("tags");
    // @ts-expect-error there are two directions
    tx.notes.orderBy("title", "down");
    // @ts-expect-error rows of a live table are read by their keys
    tx.hits.where({ value: 1 });
    // @ts-expect-error whatever is asked of them
    tx.hits.whereAny({ value: 1 });
    tx.messages.delete(["kitchen", 3]);
    tx.hits.ref("home").increment();
    tx.hits.ref("home").set(7);
    // @ts-expect-error nobody inserts into a live table
    tx.hits.insert({});
    const first: string | undefined = tx.notes.ref(args.id).tags.at(0);
    const some: readonly number[] = tx.notes.ref(args.id).log.slice(0, 2);
    const made: Id = tx.badges.ref("ada").generate();
    // @ts-expect-error only ids are generated
    tx.notes.ref(args.id).title.generate();
    return void [first, some, made, titles, one, anyOfMany, many];
  }),
  meet: mutator((tx, { id, other }: { id: Id; other: Id }) => {
    tx.people.insert({ id, born: 1980, status: "new", visits: 1, friends: [other] });
    tx.people.update(id, { status: "here" });
    // @ts-expect-error a scalar of a table that merges is given at insert, and stays
    tx.people.update(id, { born: 1981 });
    const { born, card, status, friends, visits } = tx.people.ref(id);
    status.set("here");
    friends.add(other);
    visits.increment();
    // @ts-expect-error a scalar stays
    born.set(1981);
    // @ts-expect-error an id too
    card.generate();
    // @ts-expect-error a counter is added to
    visits.set(7);
    tx.drafts.update(id, { text: "" });
    return void [born.get() + visits.get(), card.get()];
  }),
  clear: mutator((tx) => {
    for (const { room, at } of tx.messages.range()) {
      tx.messages.delete([room, at]);
    }
  }),
});

function calls(db: Client<typeof schema, (typeof mutators)["byName"]>, id: Id): void {
  db.mutate.like({ id, by: 1 });
  db.mutate.clear();
  // @ts-expect-error an argument is missing
  db.mutate.like({ id });
  // @ts-expect-error it has arguments
  db.mutate.add();
  // @ts-expect-error there is no such mutator
  db.mutate.nothing();
  // @ts-expect-error of what was deleted and updated at once, updates win
  table({ id: s.id() }).causal({ rows: "deletes-win" });
  // @ts-expect-error that belongs to tables that merge
  table({ id: s.id() }).causal({ onConflict: "manual", rows: "updates-win" });
  // @ts-expect-error of an addition and a removal at once, additions win
  s.set(s.int(), { wins: "removes" });
  db.conflicts.drafts.list.map(({ base }) => base?.text);
  // @ts-expect-error a table that merges has no conflicts
  db.conflicts.people;
  // @ts-expect-error and a strong one has none either
  db.conflicts.notes;
  db.live.people(id).visits.increment();
  db.live.people(id).self.update({ status: "here" });
  // @ts-expect-error a scalar of a table that merges stays
  db.live.people(id).born.set(1981);
  // @ts-expect-error and its counter is added to
  db.live.people(id).visits.set(7);
  db.react(
    (tx) => {
      // @ts-expect-error a reactive transaction only reads
      tx.notes.delete(id);
      // @ts-expect-error and increments nothing
      tx.hits.ref("home").increment();
      return tx.notes.get(id);
    },
    { view: "confirmed" },
    ({ data }) => {
      const title: string | undefined = data?.title;
      const size: number | null | undefined = data?.size;
      const big: bigint | null | undefined = data?.big;
      const tags: ReadonlySet<string> | undefined = data?.tags;
      const log: readonly number[] | undefined = data?.log;
      const meta: ReadonlyMap<string, string> | undefined = data?.meta;
      const owner: string | null | undefined = data?.owner;
      const moods: readonly (string | null | undefined)[] = [data?.mood, data?.tone, data?.guest];
      // @ts-expect-error it may be null, though it is not when not given
      const mood: string | undefined = data?.mood;
      // @ts-expect-error in whatever order that was said
      const tone: string | undefined = data?.tone;
      // @ts-expect-error of a register too
      const guest: string | undefined = data?.guest;
      // @ts-expect-error a counter is a number
      const votes: string | undefined = data?.votes;
      return [title, size, big, tags, log, meta, owner, votes, moods, mood, tone, guest];
    },
  );
  const hits: Promise<number> = db.read((tx) => tx.hits.ref("home").get());
  const rows: Promise<readonly { readonly key: string; readonly value: number }[]> = db.read((tx) => tx.hits.range());
  void [hits, rows];
}

test("the compiler has checked the types of this file", () => {
  assert.equal(typeof calls, "function");
});
