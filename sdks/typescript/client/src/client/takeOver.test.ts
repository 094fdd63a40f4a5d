import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";

import { IDBDatabase } from "fake-indexeddb";

import type { MutationHandle } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { leave } from "../testing/leave.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import type { TabMessage } from "../tabs/tabChannel.js";
import { until } from "../testing/until.js";
import type { ConnectionState, Reactive } from "./types.js";

const PAGE = "handed";
const STORAGE = "iolite/notes/ann";

describe("a tab whose leader is closed", () => {
  const stage = new NotesStage();

  async function openTwo(): Promise<[leader: App, follower: App, device: FakeDevice]> {
    const device = new FakeDevice();
    const leader = await stage.open(device);
    await until("the connection", () => leader.connection.status === "online");
    const follower = await stage.open(device);
    await until("the leader", () => follower.connection.status === "online");
    return [leader, follower, device];
  }

  function watch(app: App, page: string): Reactive<number>[] {
    const states: Reactive<number>[] = [];
    app.react((tx) => tx.hits.get(page) ?? 0, {}, (state: Reactive<number>) => states.push(state));
    return states;
  }

  test("goes on with its calls, in whichever state they were, and each takes effect once", async () => {
    const [leader, follower, device] = await openTwo();
    await leader.mutate.hit({ page: PAGE }).until("confirmed");
    const seen = watch(follower, PAGE);
    await until("the data", () => seen.at(-1)?.data === 1);
    device.cut = true;
    await until("the cut", () => follower.connection.status === "offline");

    const calls: MutationHandle[] = [];
    const hit = (): MutationHandle => calls[calls.push(follower.mutate.hit({ page: PAGE })) - 1] as MutationHandle;
    hit();
    await until("that the leader has it", () => seen.at(-1)?.data === 2);
    device.deafTabs = true;
    await hit().until("durable");
    hit();
    const closing = leader.close();
    device.deafTabs = false;
    const begun = seen.length;
    follower.onConnectionChange(({ role }: ConnectionState) => role === "leader" && calls.length === 3 && hit());
    await closing;
    hit();
    await until("the lead", () => follower.connection.role === "leader");
    await until("all calls", () => seen.at(-1)?.data === 1 + calls.length);
    assert.ok(seen.slice(begun).every(({ status }) => status === "ready"), "nothing flickers");
    const counts = seen.map(({ data }) => data ?? 0);
    assert.deepEqual(counts, [...counts].sort((a, b) => a - b), "nothing that was seen goes away");
    assert.deepEqual(follower.pending.map(({ id }) => id).sort(), calls.map(({ id }) => id).sort());
    await Promise.all(calls.map((call) => call.until("durable")));

    device.cut = false;
    follower.goOnline();
    await Promise.all(calls.map((call) => call.until("confirmed")));
    assert.deepEqual(follower.pending, []);
    assert.equal(await (await stage.open()).read((tx) => tx.hits.get(PAGE)), 1 + calls.length);
  });

  test("keeps what is called while it takes the lead, lists it, and takes it back when told", async () => {
    const [leader, follower, device] = await openTwo();
    device.cut = true;
    await until("the cut", () => follower.connection.status === "offline");
    const early = leader.mutate.hit({ page: "gap" });
    await early.until("durable");
    await until("the list", () => follower.pending.length === 1);
    const release = await device.holdStorage(STORAGE);
    await leave(leader);
    const [kept, gone] = [follower.mutate.hit({ page: "gap" }), follower.mutate.hit({ page: "gap" })];
    assert.deepEqual(follower.pending.map(({ id }) => id), [early.id, kept.id, gone.id]);
    assert.equal(gone.cancel(), true);
    assert.equal(gone.status.state, "cancelled", "no core has it");
    await assert.rejects(gone.until("confirmed"), { code: "cancelled", reason: "taken back" });
    release();
    await until("the lead", () => follower.connection.role === "leader");
    assert.deepEqual(follower.pending.map(({ id }) => id), [early.id, kept.id]);
    device.cut = false;
    follower.goOnline();
    await kept.until("confirmed");
    assert.equal(await (await stage.open()).read((tx) => tx.hits.get("gap")), 2);
  });

  test("learns what became of calls that ended while it heard nothing", async () => {
    const [leader, follower, device] = await openTwo();
    await leader.mutate.hit({ page: "ended" }).until("confirmed");
    follower.goOffline();
    await until("the silence", () => leader.connection.status === "offline");
    const confirmed = follower.mutate.hit({ page: "ended" });
    const rejected = follower.mutate.claim({ page: "ended" });
    await until("both at the leader", () => leader.pending.length === 2);
    device.deafTabs = true;
    leader.goOnline();
    await until("the ends", () => leader.pending.length === 0 && leader.refused.length === 1);
    assert.deepEqual([confirmed.status.state, rejected.status.state], ["pending", "pending"]);
    await leader.close();
    device.deafTabs = false;
    await confirmed.until("confirmed");
    await assert.rejects(rejected.until("confirmed"), { code: "rejected", reason: "ended is taken" });
    assert.deepEqual(follower.refused.map(({ id }) => id), [rejected.id]);
  });

  test("makes the calls again that it could not store", async () => {
    const [leader, follower] = await openTwo();
    const original = IDBDatabase.prototype.transaction;
    const failing = mock.method(IDBDatabase.prototype, "transaction", function (this: IDBDatabase, ...args: [string, IDBTransactionMode]) {
      if (args[1] === "readwrite") {
        throw new Error("the disk is full");
      }
      return original.apply(this, args);
    });
    const hit = follower.mutate.hit({ page: "unstored" });
    await until("the trouble", () => /the disk is full/.test(follower.connection.message ?? ""));
    assert.deepEqual(hit.status, { state: "pending", durable: false, sent: false, wouldReject: undefined });
    await leader.close();
    await until("the lead", () => follower.connection.role === "leader");
    assert.deepEqual(follower.pending.map(({ id }) => id), [hit.id]);
    failing.mock.restore();
    await hit.until("confirmed");
    assert.equal(await (await stage.open()).read((tx) => tx.hits.get("unstored")), 1);
  });

  test("shows what it had until it has it itself, when the disk was behind", async () => {
    const [leader, follower, device] = await openTwo();
    await leader.mutate.hit({ page: "behind" }).until("confirmed");
    const seen = watch(follower, "behind");
    await until("the data", () => seen.at(-1)?.data === 1);
    await until("that all is written", () => leader.pending.length === 0);
    await device.clearStorage(STORAGE);
    const closing = leader.close();
    await until("the lead", () => follower.connection.role === "leader");
    await closing;
    await follower.mutate.hit({ page: "behind" }).until("confirmed");
    await until("what came later", () => seen.at(-1)?.data === 2);
    assert.deepEqual(seen.map(({ status, data }) => [status, data]), [["ready", 1], ["ready", 2]]);
  });

  test("leads itself, and a third one follows it", async () => {
    const [first, second, device] = await openTwo();
    const third = await stage.open(device);
    const said = new Set<string>();
    device.channels?.open(STORAGE, (message) => said.add((message as TabMessage).kind));
    const seen = watch(third, "third");
    await until("the data", () => seen.at(-1)?.status === "ready");
    await first.close();
    await until("the lead", () => second.connection.role === "leader");
    await until("that it says so", () => said.has("leads"));
    await second.mutate.hit({ page: "third" }).until("confirmed");
    await until("the effect, without a word of its own", () => seen.at(-1)?.data === 1);
    await third.mutate.hit({ page: "third" }).until("confirmed");
    await until("its own effect", () => seen.at(-1)?.data === 2);
    assert.equal(third.connection.role, "follower");
    assert.ok(seen.slice(1).every(({ status }) => status === "ready"), "nothing flickers");
    await second.close();
    await until("the lead", () => third.connection.role === "leader");
  });

  test("makes a call once that was made when the one before was stored, during the hand-over", async () => {
    const [leader, follower, device] = await openTwo();
    await leader.mutate.hit({ page: "chain" }).until("confirmed");
    const release = await device.holdStorage(STORAGE);
    const first = follower.mutate.hit({ page: "chain" });
    const second = first.until("durable").then(() => follower.mutate.hit({ page: "chain" }));
    await leave(leader);
    release();
    await until("the lead", () => follower.connection.role === "leader");
    await Promise.all([first.until("confirmed"), (await second).until("confirmed")]);
    await until("the end", () => follower.pending.length === 0);
    assert.equal(await (await stage.open()).read((tx) => tx.hits.get("chain")), 3);
  });

  test("gives the lead back when it is closed while it takes it, but only when it is done with the storage", async () => {
    const [leader, follower, device] = await openTwo();
    const release = await device.holdStorage(STORAGE);
    await leave(leader);
    const order: string[] = [];
    const closing = Promise.all([follower.close(), follower.close()]).then(() => order.push("closed"));
    const lock = device.locks?.request(STORAGE, () => order.push("lock given"));
    // Whatever does not wait for the storage is done within this turn.
    await new Promise(setImmediate);
    order.push("storage free");
    release();
    await Promise.all([closing, lock]);
    assert.equal(order.shift(), "storage free");
    assert.deepEqual(order.sort(), ["closed", "lock given"]);
  });

  test("uses a token that it is given while it takes the lead", async () => {
    const device = new FakeDevice();
    const bad = { token: "0".repeat(32) };
    const [leader, follower] = [await stage.open(device, bad), await stage.open(device, bad)];
    await until("the refusal", () => follower.connection.refusal === "unauthorized");
    const release = await device.holdStorage(STORAGE);
    await leave(leader);
    follower.setToken(stage.options.token);
    release();
    await until("the connection", () => follower.connection.role === "leader" && follower.connection.status === "online");
  });

  test("that cannot take the lead says so, answers what waits, and gives the lead to another one", async () => {
    const [leader, follower, device] = await openTwo();
    device.deafTabs = true;
    const stuck = follower.mutate.hit({ page: "stuck" });
    await stuck.until("durable");
    const reading = follower.read((tx) => tx.hits.get("never seen"));
    const failing = mock.method(IDBDatabase.prototype, "transaction", () => {
      throw new Error("the disk is gone");
    });
    await leader.close();
    device.deafTabs = false;
    await until("the failure", () => follower.connection.role === "waiting");
    failing.mock.restore();
    assert.match(follower.connection.message ?? "", /the disk is gone/);
    const failure = { code: "storage", message: "the disk is gone" };
    await assert.rejects(reading, failure);
    await assert.rejects(follower.read((tx) => tx.hits.get("stuck")), failure);
    await assert.rejects(stuck.until("confirmed"), failure);
    assert.equal(stuck.cancel(), false);
    assert.throws(() => follower.mutate.hit({ page: "stuck" }), failure);
    const third = await stage.open(device, { paused: true });
    assert.equal(third.connection.role, "leader");
    assert.deepEqual(third.pending.map(({ id }) => id), [stuck.id]);
  });

  test("closes without ever leading, and what it had stored without a word is sent", async () => {
    const [leader, follower, device] = await openTwo();
    const third = await stage.open(device);
    leader.goOffline();
    device.deafTabs = true;
    await follower.mutate.hit({ page: "left" }).until("durable");
    device.deafTabs = false;
    await follower.close();
    await until("the call", () => leader.pending.length === 1);
    leader.goOnline();
    await until("the end", () => leader.pending.length === 0);
    await leader.close();
    await until("the lead", () => third.connection.role === "leader");
    assert.equal(await (await stage.open()).read((tx) => tx.hits.get("left")), 1);
  });
});
