import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";

import { IDBObjectStore } from "fake-indexeddb";

import { LeaderHost } from "./leaderHost.js";
import { MARKS_MAX } from "../storage/fence.js";
import { openIndexedDbStorage } from "../storage/indexedDbStorage.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { sleepAsLeader } from "../testing/sleepAsLeader.js";
import { until } from "../testing/until.js";
import { PATIENCE } from "../tabs/leaderWatch.js";

const STORAGE = "iolite/notes/ann";
const hitsOf = (app: App, page: string): Promise<number> => app.read((tx) => tx.hits.get(page) ?? 0);

describe("a tab that leads and stands still", () => {
  const stage = new NotesStage();

  async function openTabs(count: number): Promise<{ device: FakeDevice; tabs: App[] }> {
    const device = new FakeDevice();
    const tabs: App[] = [];
    for (let tab = 0; tab < count; tab += 1) {
      tabs.push(await stage.open(device));
      await until("the connection", () => tabs.at(-1)?.connection.status === "online");
    }
    return { device, tabs };
  }

  const leaderOf = (tabs: readonly App[]): App => {
    const leaders = tabs.filter(({ connection }) => connection.role === "leader");
    assert.equal(leaders.length, 1, "one tab leads");
    return leaders[0] as App;
  };

  test("is robbed of the lead, follows when it wakes, and hears how its calls ended", async () => {
    const { device, tabs } = await openTabs(2);
    const [first, second] = tabs as [App, App];
    const messages: (string | undefined)[] = [];
    first.onConnectionChange(({ message }) => messages.push(message));
    device.cut = true;
    const stored = first.mutate.hit({ page: "still" });
    await stored.until("durable");
    device.cut = false;
    const wake = device.standStill(0);
    await until("the lead", () => second.connection.role === "leader");
    await second.mutate.hit({ page: "still" }).until("confirmed");
    await until("what the first one stored", () => second.pending.length === 0);
    const attempts = device.attempts;
    wake();
    const lost = first.mutate.hit({ page: "still" });
    await until("that it follows", () => first.connection.role === "follower" && first.connection.status === "online");
    await Promise.all([stored.until("confirmed"), lost.until("confirmed")]);
    assert.equal(await hitsOf(second, "still"), 3);
    assert.equal(await hitsOf(first, "still"), 3);
    assert.deepEqual([leaderOf(tabs), first.pending, second.pending], [second, [], []]);
    assert.equal(device.attempts, attempts, "it does not end the other one's session");
    assert.ok(messages.every((message) => message === undefined), `no error is shown: ${String(messages)}`);
  });

  test("asks whether it still leads before it makes a link, which would end the other one's session", async () => {
    const { device } = await openTabs(1);
    const stepDown = mock.method(LeaderHost.prototype, "stepDown", async function (this: LeaderHost) {
      attempts.push(device.attempts);
      stepDown.mock.restore();
      await this.stepDown();
    });
    const attempts = [device.attempts];
    const other = await openIndexedDbStorage(device.indexedDB as IDBFactory, STORAGE);
    await other.lead("taken");
    device.cut = true;
    await until("that it finds out", () => attempts.length === 2);
    assert.equal(attempts[1], attempts[0], "no link was made before");
    other.close();
    device.cut = false;
  });

  test("is not robbed while it answers", async () => {
    const { device, tabs } = await openTabs(2);
    await new Promise((resolve) => setTimeout(resolve, device.patience.askMs * 20));
    assert.deepEqual(tabs.map(({ connection }) => connection.role), ["leader", "follower"]);
  });

  test("is robbed while it opens, gets one core, and follows", async () => {
    const device = new FakeDevice();
    device.patience = PATIENCE;
    await (await stage.open(device)).close();
    const release = await device.holdStorage(STORAGE);
    const opened = mock.method(LeaderHost, "open");
    const opening = stage.open(device);
    while ((await device.locks?.query())?.held?.some(({ name }) => name === STORAGE) !== true) {
      await new Promise(setImmediate);
    }
    let giveBack = (): void => undefined;
    const stolen = device.locks?.request(STORAGE, { steal: true }, () => new Promise<void>((resolve) => (giveBack = resolve)));
    stolen?.catch(() => undefined);
    release();
    const app = await opening;
    await until("that it follows", () => app.connection.role === "follower");
    assert.equal(opened.mock.callCount(), 0, "another one leads");
    giveBack();
    await app.mutate.hit({ page: "opened" }).until("confirmed");
    assert.equal(opened.mock.callCount(), 1);
    opened.mock.restore();
  });

  test("keeps the others from leading while the device has no room to fence it out", async () => {
    const { device, tabs } = await openTabs(3);
    const first = tabs[0] as App;
    const { put } = IDBObjectStore.prototype;
    const full = mock.method(IDBObjectStore.prototype, "put", function (this: IDBObjectStore, ...given: [unknown, IDBValidKey]) {
      if (given[1] === "generation") {
        throw new DOMException("there is no room", "QuotaExceededError");
      }
      return put.apply(this, given);
    });
    const wake = sleepAsLeader(device, 0);
    await until("that nobody else can lead", () => tabs.slice(1).every(({ connection }) => connection.role === "waiting"));
    wake();
    await until("that it leads again", () => first.connection.role === "leader" && first.connection.status === "online");
    await first.mutate.hit({ page: "full" }).until("confirmed");
    full.mock.restore();
  });

  test("is one of four, twenty times, and every call of every tab takes effect once", async () => {
    const { device, tabs } = await openTabs(4);
    let calls = 0;
    for (let round = 0; round < 20; round += 1) {
      const leader = leaderOf(tabs);
      const others = tabs.filter((tab) => tab !== leader);
      const wake = device.standStill(tabs.indexOf(leader));
      await until("another leader", () => others.some(({ connection }) => connection.role === "leader"));
      calls += others.length;
      await Promise.all(others.map((tab) => tab.mutate.hit({ page: "four" }).until("confirmed")));
      wake();
      calls += 1;
      await leader.mutate.hit({ page: "four" }).until("confirmed");
      await until("one leader", () => tabs.filter(({ connection }) => connection.role === "leader").length === 1);
    }
    assert.equal(await hitsOf(await stage.open(), "four"), calls);
  });
});

test("a write of a tab that was robbed of the lead changes nothing", async () => {
  const factory = new FakeDevice().indexedDB as IDBFactory;
  const [first, second] = [await openIndexedDbStorage(factory, STORAGE), await openIndexedDbStorage(factory, STORAGE)];
  assert.equal(await first.isFenced(), false);
  await first.lead("given");
  await first.write([Uint8Array.of(1), Uint8Array.of(1)]);
  const underWay = first.write([Uint8Array.of(2), Uint8Array.of(2)]);
  const stored = await second.lead("taken");
  await underWay;
  assert.deepEqual(stored, [1, 1, 2, 2].map((byte) => Uint8Array.of(byte)), "what was under way is before the theft");
  await assert.rejects(first.write([Uint8Array.of(3), Uint8Array.of(3)]), { name: "OvertakenError" });
  assert.deepEqual([await first.leads(), await second.leads(), await second.isFenced()], [false, true, true]);
  await second.write([Uint8Array.of(4), Uint8Array.of(4)]);
  first.follow();
  await first.write([Uint8Array.of(5), Uint8Array.of(5)]);
  assert.deepEqual((await second.load()).length, 8, "the third write is not there");
});

test("marks of generations long over go", async () => {
  const factory = new FakeDevice().indexedDB as IDBFactory;
  const storage = await openIndexedDbStorage(factory, STORAGE);
  const opening = factory.open(STORAGE);
  await new Promise((resolve) => (opening.onsuccess = resolve));
  const change = opening.result.transaction("entries", "readwrite");
  const last = 3 + MARKS_MAX;
  change.objectStore("entries").put(last, "generation");
  [3, 4].forEach((over) => change.objectStore("entries").put(0, over));
  await new Promise((resolve) => (change.oncomplete = resolve));
  await storage.lead("given");
  const keys = opening.result.transaction("entries").objectStore("entries").getAllKeys();
  await new Promise((resolve) => (keys.onsuccess = resolve));
  assert.deepEqual(keys.result, [4, last, "generation"]);
});

test("a write does not wait for its page between its requests", async () => {
  const storage = await openIndexedDbStorage(new FakeDevice().indexedDB as IDBFactory, STORAGE);
  await storage.lead("given");
  const { IDBTransaction } = await import("fake-indexeddb");
  const committed = mock.method(IDBTransaction.prototype, "commit");
  await storage.write([Uint8Array.of(1), Uint8Array.of(1)]);
  assert.equal(committed.mock.callCount(), 1);
  committed.mock.restore();
});

test("a tab that stands still is noticed early enough for the others to confirm within 15 s", () => {
  assert.ok(PATIENCE.askMs * (PATIENCE.unanswered + 1) <= 10_000);
  assert.ok(PATIENCE.askMs * PATIENCE.unanswered >= 5_000, "a long task is no reason");
});

describe("a tab whose storage was deleted", () => {
  const stage = new NotesStage();

  for (const role of ["leader", "follower"] as const) {
    test(`does not call durable what is lost, and lists it, as a ${role}`, async () => {
      const device = new FakeDevice();
      device.cut = true;
      const leader = await stage.open(device);
      const app = role === "leader" ? leader : await stage.open(device);
      const hit = app.mutate.hit({ page: "lost" });
      await hit.until("durable");
      const underWay = app.mutate.hit({ page: "under way" });
      device.indexedDB?.deleteDatabase(STORAGE);
      await until("the loss", () => app.connection.role === "waiting");
      assert.deepEqual(hit.status, { state: "pending", durable: false, sent: false, wouldReject: undefined });
      await assert.rejects(hit.until("durable"), { code: "storage" });
      await assert.rejects(hit.until("confirmed"), { code: "storage" });
      await assert.rejects(underWay.until("confirmed"), { code: "storage" });
      const listed = app.pending.map(({ name, args, status }) => [name, args, status.durable]);
      assert.deepEqual(listed, [["hit", { page: "lost" }, false], ["hit", { page: "under way" }, false]]);
    });
  }
});
