/** Causal tables that merge, against a real server: written offline by several devices and tabs, and never in conflict. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { defineMutators, defineSchema, mutator, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";

const schema = defineSchema({
  people: table({ id: s.string(), born: s.int(), status: s.register(s.string()), friends: s.set(s.string()), visits: s.counter() }).causal(),
  wall: table({ of: s.string(), id: s.int(), text: s.string() }).key("of", "id").causal(),
  rooms: table({ id: s.string(), seats: s.int() }),
});

interface Two {
  readonly one: string;
  readonly other: string;
}

const mutators = defineMutators(schema, {
  join: mutator((tx, id: string) => tx.people.insert({ id, born: 1980, status: "new", visits: 3, friends: ["eve"] })),
  visit: mutator((tx, id: string) => tx.people.ref(id).visits.increment()),
  say: mutator((tx, { id, status }: { id: string; status: string }) => tx.people.update(id, { status })),
  befriend: mutator((tx, { one, other }: Two) => {
    tx.people.ref(one).friends.add(other);
    tx.people.ref(other).friends.add(one);
  }),
  unfriend: mutator((tx, { one, other }: Two) => tx.people.ref(one).friends.delete(other)),
  write: mutator((tx, { of, id, text }: { of: string; id: number; text: string }) => tx.wall.insert({ of, id, text })),
  leave: mutator((tx, id: string) => tx.people.delete(id)),
  setBorn: mutator((tx, id: string) => tx.people.update(id, { born: 1981 } as never)),
  setVisits: mutator((tx, id: string) => (tx.people.ref(id).visits as unknown as { set(total: number): void }).set(7)),
  book: mutator((tx, id: string) => {
    tx.people.ref(id).visits.increment();
    tx.rooms.insert({ id, seats: 1 });
  }),
});

describe("tables that merge", () => {
  const connect = servedApps({ name: "merging", schema, mutators });

  /** A client that keeps all rows on its device. */
  const open = async (device?: FakeDevice) => {
    const client = await connect(device);
    let isHere = false;
    client.pin((tx) => [tx.people.range(), tx.wall.range()], ({ status }) => (isHere = status === "ready"));
    await until("its rows", () => isHere);
    return client;
  };
  type Db = Awaited<ReturnType<typeof open>>;

  const person = (db: Db, id: string) => db.peek((tx) => tx.people.get(id));

  const untilBoth = async (all: readonly Db[], id: string, wanted: object | undefined): Promise<void> => {
    const shown = (db: Db): string => JSON.stringify(db.peek((tx) => tx.people.get(id)), (_, value: unknown) => (value instanceof Set ? [...value].sort() : value));
    await until(`${JSON.stringify(wanted)}, not ${all.map(shown).join(" and ")}`, () => all.every((db) => shown(db) === JSON.stringify(wanted)));
  };

  test("take calls offline, and show at both devices what both have done", async () => {
    const device = new FakeDevice();
    const [leader, follower, other] = [await open(device), await open(device), await open()];
    for (const id of ["ada", "ben"]) {
      await leader.mutate.join(id).until("confirmed");
    }
    await until("the rows", () => [follower, other].every((db) => person(db, "ben") !== undefined));
    leader.goOffline();
    other.goOffline();
    const calls = [
      leader.mutate.visit("ada"),
      follower.mutate.befriend({ one: "ada", other: "ben" }),
      follower.mutate.write({ of: "ada", id: 1, text: "from one" }),
      leader.mutate.say({ id: "ada", status: "sooner" }),
    ];
    await Promise.all(calls.map((call) => call.until("durable")));
    assert.deepEqual(person(leader, "ada"), { id: "ada", born: 1980, status: "sooner", friends: new Set(["ben", "eve"]), visits: 4 });
    calls.push(
      other.mutate.visit("ada"),
      other.mutate.unfriend({ one: "ada", other: "eve" }),
      other.mutate.write({ of: "ada", id: 2, text: "from the other" }),
      other.mutate.say({ id: "ada", status: "later" }),
    );
    other.goOnline();
    await Promise.all(calls.slice(4).map((call) => call.until("confirmed")));
    leader.goOnline();
    await Promise.all(calls.map((call) => call.until("confirmed")));
    const all = [leader, follower, other];
    // The later status was sent sooner.
    await untilBoth(all, "ada", { id: "ada", born: 1980, status: "later", friends: ["ben"], visits: 5 });
    await untilBoth(all, "ben", { id: "ben", born: 1980, status: "new", friends: ["ada", "eve"], visits: 3 });
    for (const db of all) {
      assert.deepEqual(db.peek((tx) => tx.wall.range({ prefix: ["ada"] }).map(({ text }) => text)), ["from one", "from the other"]);
    }
  });

  test("bring a row back whole that was deleted and updated at once, and one anew that is inserted again", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.join("cleo").until("confirmed");
    await until("the row", () => person(other, "cleo") !== undefined);
    one.goOffline();
    const left = one.mutate.leave("cleo");
    await left.until("durable");
    assert.equal(person(one, "cleo"), undefined);
    await other.mutate.visit("cleo").until("confirmed");
    one.goOnline();
    await left.until("confirmed");
    await untilBoth([one, other], "cleo", { id: "cleo", born: 1980, status: "new", friends: ["eve"], visits: 4 });
    await one.mutate.leave("cleo").until("confirmed");
    await untilBoth([one, other], "cleo", undefined);
    await other.mutate.join("cleo").until("confirmed");
    await untilBoth([one, other], "cleo", { id: "cleo", born: 1980, status: "new", friends: ["eve"], visits: 3 });
  });

  test("are two insertions of one row at once as one row, whose counters add up", async () => {
    const [one, other] = [await open(), await open()];
    one.goOffline();
    const call = one.mutate.join("dora");
    await call.until("durable");
    await other.mutate.join("dora").until("confirmed");
    one.goOnline();
    await call.until("confirmed");
    await untilBoth([one, other], "dora", { id: "dora", born: 1980, status: "new", friends: ["eve"], visits: 6 });
  });

  test("keep a scalar as it was given, count only by additions, and commit without other tables", async () => {
    const db = await open();
    await db.mutate.join("eve").until("confirmed");
    for (const [wrong, problem] of [
      [db.mutate.setBorn("eve"), /make it a register/],
      [db.mutate.setVisits("eve"), /total of "visits" .* add to it/],
      [db.mutate.book("eve"), /make it two mutations/],
    ] as const) {
      await assert.rejects(wrong.until("confirmed"), problem);
    }
    assert.deepEqual(person(db, "eve"), { id: "eve", born: 1980, status: "new", friends: new Set(["eve"]), visits: 3 });
    await db.live.people("eve").visits.increment().until("confirmed");
    await db.live.people("eve").status.set("live").until("confirmed");
    assert.deepEqual(person(db, "eve"), { id: "eve", born: 1980, status: "live", friends: new Set(["eve"]), visits: 4 });
  });
});
