import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import type { App } from "../testing/notesStage.js";
import { until } from "../testing/until.js";

/** No server: what is removed is on the device. */
const options = { url: "ws://127.0.0.1:1/sync", token: "t", name: "notes", user: "ann", schema, mutators, paused: true };

describe("signing out", () => {
  const opened: App[] = [];
  after(() => Promise.all(opened.map((client) => client.close())));

  async function open(device: FakeDevice): Promise<App> {
    const client: App = await device.openTab(options);
    opened.push(client);
    return client;
  }

  /** The first leads, and the second follows it. */
  async function openTwo(): Promise<[device: FakeDevice, leader: App, follower: App]> {
    const device = new FakeDevice();
    const [leader, follower] = [await open(device), await open(device)];
    await until("the leader", () => follower.connection.status === "offline");
    return [device, leader, follower];
  }

  const databases = async ({ indexedDB }: FakeDevice) => (await indexedDB?.databases())?.map(({ name }) => name);

  test("is refused while a mutation is pending, which is kept", async () => {
    const device = new FakeDevice();
    const ann = await open(device);
    await ann.mutate.hit({ page: "kept" }).until("durable");
    await assert.rejects(ann.signOut(), { code: "pending", message: /^1 mutation is pending, and would be lost: .*discard: true/ });
    await ann.close();
    assert.equal((await open(device)).pending.length, 1);
  });

  test("removes everything, and ends the client, if it is told to discard what is pending", async () => {
    const device = new FakeDevice();
    const ann = await open(device);
    const hit = ann.mutate.hit({ page: "given up" });
    await hit.until("durable");
    await ann.blobs.put(new Uint8Array(100_000));
    await ann.signOut({ discard: true });
    assert.deepEqual(await databases(device), []);
    await assert.rejects(hit.until("confirmed"), { code: "closed" });
    assert.throws(() => ann.mutate.hit({ page: "late" }), { code: "closed" });
    await assert.rejects(ann.signOut(), { code: "closed" });
    assert.deepEqual((await open(device)).pending, []);
  });

  test("ends the other tabs, whichever signs out", async () => {
    for (const which of ["leader", "follower"] as const) {
      const [device, leader, follower] = await openTwo();
      const [signing, other] = which === "leader" ? [leader, follower] : [follower, leader];
      await signing.signOut();
      await until("the end of the other tab", () => other.connection.role === "waiting");
      assert.match(other.connection.message ?? "", /signed out in another tab/);
      assert.throws(() => other.mutate.hit({ page: "late" }), { code: "closed" });
      assert.throws(() => signing.mutate.hit({ page: "late" }), { code: "closed" });
      assert.deepEqual(await databases(device), []);
    }
  });

  test("is refused in a tab that follows for what only the one that leads knows, and goes on when that one is gone", async () => {
    const [device, leader, follower] = await openTwo();
    device.deafTabs = true;
    await leader.mutate.hit({ page: "unheard" }).until("durable");
    assert.equal(follower.pending.length, 0);
    const asked = follower.signOut();
    device.deafTabs = false;
    await leader.close();
    await assert.rejects(asked, { code: "pending" });
    assert.equal(follower.connection.role, "leader");
    await follower.signOut({ discard: true });
    assert.deepEqual(await databases(device), []);
  });

  test("is refused while a call of another tab is on the disk and the tab that leads has not heard of it", async () => {
    const [device, leader, follower] = await openTwo();
    device.deafTabs = true;
    await follower.mutate.hit({ page: "unheard" }).until("durable");
    await assert.rejects(leader.signOut(), { code: "pending", message: /1 call of a tab is not taken over yet/ });
  });

  test("takes no option but to discard", async () => {
    const ann = await open(new FakeDevice());
    await assert.rejects(ann.signOut({ discrad: true } as never), { code: "call", message: /no option "discrad"/ });
    await assert.rejects(ann.signOut({ discard: 1 as never }), { code: "call", message: /discard is true, or is left out, not 1/ });
  });
});
