/** Causal and eventual tables against a real server: written offline, in conflict, decided, in two tabs. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { platform } from "#platform";

import type { Seat } from "../client/seat.js";
import { defineMutators, defineSchema, mutator, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";
import { canonicalSchema } from "../wasm/iolite_wasm.js";
import type { RowVersion } from "../transaction/types.js";
import { TabConflicts } from "./conflicts.js";

const schema = defineSchema({
  notes: table({ id: s.string(), text: s.string(), pinned: s.bool().default(false), recording: s.blob({ fetch: "on-demand" }).optional() }).causal({
    onConflict: "manual",
  }),
  stars: table({ coupon: s.string(), on: s.bool(), rank: s.int().default(0) }).key("coupon").eventual(),
  tasks: table({ id: s.string(), text: s.string() }).offline("refuse"),
});

const mutators = defineMutators(schema, {
  add: mutator((tx, { id, text }: { id: string; text: string }) => tx.notes.insert({ id, text })),
  write: mutator((tx, { id, text, base }: { id: string; text: string; base: RowVersion | null }) =>
    tx.notes.update(id, { text }, base === null ? {} : { base }),
  ),
  star: mutator((tx, { coupon, on }: { coupon: string; on: boolean }) =>
    tx.stars.has(coupon) ? tx.stars.update(coupon, { on }) : tx.stars.insert({ coupon, on }),
  ),
  rank: mutator((tx, { coupon, rank }: { coupon: string; rank: number }) => tx.stars.update(coupon, { rank })),
  unstar: mutator((tx, coupon: string) => tx.stars.delete(coupon)),
  both: mutator((tx, id: string) => {
    tx.stars.insert({ coupon: id, on: true });
    tx.tasks.insert({ id, text: "" });
  }),
});

describe("tables that sync", () => {
  const connect = servedApps({ name: "syncing", schema, mutators });
  before(() => platform.loadCore());

  /** A client that keeps all notes on its device, as an app does that lists them. */
  const open = async (device?: FakeDevice) => {
    const client = await connect(device);
    let isHere = false;
    client.pin((tx) => tx.notes.range(), ({ status }) => (isHere = status === "ready"));
    await until("its notes", () => isHere);
    return client;
  };

  test("say so in the schema, as every language writes it", () => {
    assert.equal(canonicalSchema(schema.json), schema.json);
    const isolated = table({ id: s.string() }).eventual().isolation("snapshot");
    assert.throws(() => defineSchema({ isolated }), /eventual has no isolation to choose/);
    const merging = defineSchema({ merging: table({ id: s.string(), n: s.counter() }).eventual() });
    assert.throws(() => canonicalSchema(merging.json), /holds scalars and blobs, and this is a counter/);
  });

  test("are written offline, and reach another client", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.add({ id: "a", text: "first" }).until("confirmed");
    one.goOffline();
    const call = one.mutate.write({ id: "a", text: "second", base: null });
    await call.until("durable");
    assert.equal(one.peek((tx) => tx.notes.get("a")?.text), "second");
    assert.deepEqual(one.pending.map(({ name }) => name), ["write"]);
    one.goOnline();
    await call.until("confirmed");
    await until("the text", () => other.peek((tx) => tx.notes.get("a")?.text) === "second");
  });

  test("are in conflict until a person decides, in the tab that leads and in one that follows", async () => {
    const device = new FakeDevice();
    const [leader, follower, other] = [await open(device), await open(device), await open()];
    await leader.mutate.add({ id: "b", text: "first" }).until("confirmed");
    await until("the row", () => other.peek((tx) => tx.notes.has("b")));
    const seen: (readonly string[])[] = [];
    const stops = [leader, follower].map((client) => client.conflicts.notes.watch((rows) => seen.push(rows.map(({ key }) => key))));
    leader.goOffline();
    const call = follower.mutate.write({ id: "b", text: "mine", base: null });
    await call.until("durable");
    await other.mutate.write({ id: "b", text: "theirs", base: null }).until("confirmed");
    leader.goOnline();
    await until("the conflict in both", () => [leader, follower].every(({ conflicts }) => conflicts.notes.list.length === 1));
    const [conflict] = follower.conflicts.notes.list;
    assert.deepEqual([conflict?.base?.text, conflict?.local?.text, conflict?.server?.text, conflict?.calls], ["first", "mine", "theirs", 1]);
    await until("it is said of the call", () => call.status.state === "pending" && call.status.inConflict === true);
    assert.equal(follower.peek((tx) => tx.notes.get("b")?.text), "mine");
    await assert.rejects(follower.signOut(), { code: "pending" });
    await follower.conflicts.notes.resolve((rows) => rows.forEach((row) => row.keep({ text: `${row.local?.text} and ${row.server?.text}` })));
    await call.until("confirmed");
    assert.equal(call.status.state, "overruled");
    await until("the row", () => other.peek((tx) => tx.notes.get("b")?.text) === "mine and theirs");
    await until("no conflict", () => [leader, follower].every(({ conflicts }) => conflicts.notes.list.length === 0));
    assert.ok(seen.some((rows) => rows.includes("b")));
    stops.forEach((stop) => stop());
  });

  test("are decided on what the person saw, or not at all", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.add({ id: "c", text: "first" }).until("confirmed");
    await until("the row", () => other.peek((tx) => tx.notes.has("c")));
    one.goOffline();
    await one.mutate.write({ id: "c", text: "mine", base: null }).until("durable");
    await other.mutate.write({ id: "c", text: "theirs", base: null }).until("confirmed");
    one.goOnline();
    await until("the conflict", () => one.conflicts.notes.list.length === 1);
    await assert.rejects(one.conflicts.notes.resolve((rows) => rows[0]?.keep("mine" as never)), { code: "call", message: /"local", "server" or values/ });
    await assert.rejects(one.conflicts.notes.resolve((rows) => rows[0]?.keep({ txet: "" } as never)), /no column "txet"/);
    const seen = one.conflicts.notes.list;
    await other.mutate.write({ id: "c", text: "theirs again", base: null }).until("confirmed");
    await until("the other text", () => one.conflicts.notes.list[0]?.server?.text === "theirs again");
    const early = one.conflicts.notes.resolve((rows) => rows.forEach((row) => row.keep("local")), seen);
    await assert.rejects(early, { code: "call", message: /was written again meanwhile/ });
    await one.conflicts.notes.resolve(() => undefined);
    assert.equal(one.conflicts.notes.list.length, 1, "what nobody decided stays");
    await one.conflicts.notes.resolve((rows) => rows.forEach((row) => row.keep("local")));
    await until("the row", () => other.peek((tx) => tx.notes.get("c")?.text) === "mine");
  });

  test("take the version that the user saw, whatever has come since", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.add({ id: "d", text: "first" }).until("confirmed");
    const seen = await one.read((tx) => tx.notes.version("d"));
    assert.match(seen ?? "", /^[0-9a-f]{32}$/);
    await until("the row", () => other.peek((tx) => tx.notes.has("d")));
    await other.mutate.write({ id: "d", text: "theirs", base: null }).until("confirmed");
    await until("the other text", () => one.peek((tx) => tx.notes.get("d")?.text) === "theirs");
    const call = one.mutate.write({ id: "d", text: "mine", base: seen ?? null });
    await until("the conflict", () => one.conflicts.notes.list.length === 1);
    await one.conflicts.notes.resolve((rows) => rows.forEach((row) => row.keep("server")));
    await call.until("confirmed");
    assert.equal(call.status.state, "overruled");
    const wrong = one.mutate.write({ id: "d", text: "mine", base: "x" });
    await assert.rejects(wrong.until("confirmed"), /no version of a row/);
  });

  test("lose nothing of two columns, and bring no row back, where they are eventual", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.star({ coupon: "a", on: true }).until("confirmed");
    await one.mutate.star({ coupon: "b", on: true }).until("confirmed");
    one.goOffline();
    const [off, ranked] = [one.mutate.star({ coupon: "a", on: false }), one.mutate.rank({ coupon: "b", rank: 5 })];
    await other.mutate.rank({ coupon: "a", rank: 7 }).until("confirmed");
    await other.mutate.unstar("b").until("confirmed");
    one.goOnline();
    await off.until("confirmed");
    await assert.rejects(ranked.until("confirmed"), { code: "rejected", message: /deleted meanwhile/ });
    assert.deepEqual(await one.read((tx) => tx.stars.get("a")), { coupon: "a", on: false, rank: 7 });
    assert.equal(await one.read((tx) => tx.stars.get("b")), undefined);
  });

  test("commit by themselves", async () => {
    const client = await open();
    await assert.rejects(client.mutate.both("x").until("confirmed"), /"stars" \(eventual\) and "tasks" \(strong\)/);
  });
});

test("a choice that no core takes is an error", async () => {
  const raw = [["a"], null, null, null, "version", 1];
  const seat = { options: { schema }, host: { conflicts: () => [raw] } as unknown, checkUsable: () => undefined };
  const { notes } = new TabConflicts(seat as unknown as Seat).byTable;
  assert.ok(notes !== undefined);
  assert.equal(notes.list.length, 1);
  // The tab that led is gone, and this one is about to take the lead.
  seat.host = undefined;
  const decide = (rows: readonly unknown[]): void => (rows as readonly { keep(choice: string): void }[]).forEach((row) => row.keep("server"));
  await assert.rejects(notes.resolve(decide), { code: "not-ready", message: /decide again/ });
  await notes.resolve(() => undefined);
});

test("a table that merges has no conflicts to list, nor has a strong or an eventual one", () => {
  const merging = defineSchema({ ...schema.tables, people: table({ id: s.string(), visits: s.counter() }).causal() });
  assert.deepEqual(Object.keys(new TabConflicts({ options: { schema: merging } } as unknown as Seat).byTable), ["notes"]);
});
