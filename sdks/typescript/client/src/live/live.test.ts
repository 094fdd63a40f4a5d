import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { defineMutators, defineSchema, live, MutationError, mutator, newId, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";
import { Core } from "../wasm/iolite_wasm.js";
import type { Live } from "./types.js";

const schema = defineSchema({
  notes: table({
    id: s.id(),
    title: s.string(),
    big: s.int64().optional(),
    owner: s.register(s.string()).optional(),
    votes: s.counter(),
    tags: s.set(s.string()),
    log: s.list(s.int()),
    meta: s.map(s.int()),
    badge: s.id().optional(),
  }),
  tweets: table({ id: s.int(), text: s.string() }),
  timelines: live(s.list(s.int(), { order: "commit" })),
  games: live(s.counter()),
  seats: live(s.string().default("")),
});

const mutators = defineMutators(schema, {
  note: mutator((tx, args: { id: string }) => tx.notes.insert({ id: args.id as never, title: "new" })),
  tweet: mutator((tx, args: { id: number; text: string; user: string }) => {
    tx.tweets.insert({ id: args.id, text: args.text });
    tx.timelines.ref(args.user).push(args.id);
  }),
});

async function becomes<T>(binding: Live<T>, wanted: T): Promise<void> {
  const stop = binding.onChange(() => undefined);
  await until(`${JSON.stringify(wanted)}, not ${JSON.stringify(binding.value)}`, () => {
    try {
      assert.deepEqual(binding.value, wanted);
      return true;
    } catch {
      return false;
    }
  });
  stop();
}

describe("live bindings", () => {
  const open = servedApps({ name: "live", schema, mutators });

  test("of one value are variables that two clients share", async () => {
    const [ann, ben] = [await open(), await open()];
    const states: unknown[] = [];
    const theirs = ben.live.games("g1", { view: "confirmed" });
    const stop = theirs.onChange(({ status, data }) => states.push([status, data]));
    await becomes(theirs, 0);
    await ann.live.games("g1").increment().until("confirmed");
    await ann.live.games("g1").increment(4).until("confirmed");
    await becomes(theirs, 5);
    await ann.live.games("g1").set(40).until("confirmed");
    await ann.live.games("g1").decrement(1).until("confirmed");
    await becomes(theirs, 39);
    stop();
    assert.deepEqual(states.at(-1), ["ready", 39]);
  });

  test("show a write at once, and keep it over a restart without its mutator", async () => {
    const device = new FakeDevice();
    const app = await open(device);
    await becomes(app.live.games("offline"), 0);
    app.goOffline();
    const handle = app.live.games("offline").increment(3);
    await app.settled();
    assert.equal(app.live.games("offline").value, 3);
    await handle.until("durable");
    assert.deepEqual(app.pending.map(({ name, args }) => [name, args]), [
      ["$live", [{ by: 3, column: "value", do: "increment", key: ["offline"], table: "games" }]],
    ]);
    await app.close();
    const again = await open(device);
    await until("the end", () => again.pending.length === 0);
    await becomes((await open()).live.games("offline", { view: "confirmed" }), 3);
  });

  test("of a row are an object, whose members are its columns", async () => {
    const app = await open();
    const id = newId();
    await app.mutate.note({ id }).until("confirmed");
    const note = app.live.notes(id);
    note.votes.increment(2);
    note.title.set("written");
    note.owner.set("ann");
    note.tags.add("b");
    note.tags.add("a");
    note.tags.delete("b");
    note.log.push(1);
    note.log.push(2);
    note.log.set(0, 9);
    note.meta.set("k", 1);
    note.meta.set("gone", 2);
    note.meta.delete("gone");
    note.badge.generate();
    await note.big.set(1n << 60n).until("confirmed");
    const other = (await open()).live.notes(id);
    await becomes(other.log, [9, 2]);
    const stop = other.self.onChange(() => undefined);
    await until("the row", () => other.self.value !== undefined);
    const { badge, ...row } = other.self.value ?? {};
    stop();
    assert.match(String(badge), /^[0-9a-f]{32}$/);
    assert.deepEqual(row, {
      id,
      title: "written",
      big: 1n << 60n,
      owner: "ann",
      votes: 2,
      tags: new Set(["a"]),
      log: [9, 2],
      meta: new Map([["k", 1]]),
    });
    await note.self.update({ title: "both", owner: null }).until("confirmed");
    await becomes(other.title, "both");
    await becomes(other.owner, null);
  });

  test("of a range of a list follow its end, and give the rows that it names", async () => {
    const app = await open();
    for (let id = 1; id <= 5; id += 1) {
      await app.mutate.tweet({ id, text: `tweet ${id}`, user: "ann" }).until("confirmed");
    }
    const other = await open();
    const tail = other.live.timelines("ann").slice(-2);
    const rows = tail.rows(schema.tables.tweets);
    await becomes(tail, [4, 5]);
    await becomes(rows, [{ id: 4, text: "tweet 4" }, { id: 5, text: "tweet 5" }]);
    const listening = rows.onChange(() => undefined);
    await app.mutate.tweet({ id: 6, text: "tweet 6", user: "ann" }).until("confirmed");
    await becomes(rows, [{ id: 5, text: "tweet 5" }, { id: 6, text: "tweet 6" }]);
    await app.live.tweets(6).text.set("edited").until("confirmed");
    await becomes(rows, [{ id: 5, text: "tweet 5" }, { id: 6, text: "edited" }]);
    await app.live.timelines("ann").push(99).until("confirmed");
    await becomes(rows, [{ id: 6, text: "edited" }, undefined]);
    listening();
  });

  test("say at once what does not fit", async () => {
    const app = await open();
    const note = app.live.notes(newId());
    const wrong: [() => unknown, RegExp][] = [
      [() => app.live.games(5 as never), /table "games", column "key".*type string/],
      [() => (app.live as unknown as Record<string, () => unknown>)["gmaes"]?.(), /no table "gmaes"/],
      [() => (note as unknown as Record<string, unknown>)["titel"], /no column "titel"/],
      [() => note.title.set(5 as never), /column "title".*type string, and 5 was given/],
      [() => app.live.games("g").increment(0.5), /type int/],
      [() => note.self.update({ votes: 1 } as never), /"votes" is none that update can put/],
      [() => app.live.timelines("ann").slice(-2).rows(schema.tables.notes), /of type int, and no keys of table "notes"/],
      [() => note.tags.add(7 as never), /column "tags".*type string/],
      [() => note.log.set(-1, 5), /whole number from 0/],
      [() => note.log.set(0.5, 5), /whole number from 0/],
    ];
    for (const [call, message] of wrong) {
      assert.throws(call, { message });
    }
    assert.deepEqual(app.pending, [], "none of them was called");
  });

  test("of a row that is not there cannot be written", async () => {
    const app = await open();
    const handle = app.live.notes(newId()).votes.increment();
    await assert.rejects(handle.until("confirmed"), (error) => error instanceof MutationError && /no row/.test(error.message));
  });

  test("work in a tab that follows", async () => {
    const device = new FakeDevice();
    await open(device);
    const follower = await open(device);
    assert.equal(follower.connection.role, "follower");
    await follower.live.seats("a1").set("ann").until("confirmed");
    await becomes(follower.live.seats("a1"), "ann");
  });

  test("end when nobody listens any more, and begin again when somebody does", async (t) => {
    const [begun, ended] = [t.mock.method(Core.prototype, "register"), t.mock.method(Core.prototype, "stop")];
    const app = await open();
    const seat = app.live.seats("b2");
    await becomes(seat, "");
    assert.equal(begun.mock.callCount(), 1);
    const [{ this: core, result: reaction } = {}] = begun.mock.calls;
    await until("its end", () => ended.mock.calls.some((call) => call.this === core && call.arguments[0] === reaction));
    await app.live.seats("b2").set("ben").until("confirmed");
    await becomes(seat, "ben");
    assert.equal(begun.mock.callCount(), 2);
  });
});
