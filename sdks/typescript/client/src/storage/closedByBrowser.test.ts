import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { forceCloseDatabase } from "fake-indexeddb";

import { openIndexedDbStorage } from "./indexedDbStorage.js";
import type { ClientOptions } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";

type Databases = { readonly device: FakeDevice; readonly opened: IDBDatabase[] };

const NAME = "iolite/notes/ann";
const options: ClientOptions<typeof schema, (typeof mutators)["byName"]> = {
  url: "ws://localhost:1/sync",
  token: "none",
  name: "notes",
  user: "ann",
  schema,
  mutators,
};

/** A device without a network, and the connections that are made to its databases. */
function deviceWithDatabases(): Databases {
  const device = new FakeDevice();
  device.cut = true;
  const factory = device.indexedDB as IDBFactory;
  const opened: IDBDatabase[] = [];
  const open = factory.open.bind(factory);
  factory.open = (name, version) => {
    const opening = open(name, version);
    opening.addEventListener("success", () => opened.push(opening.result));
    return opening;
  };
  return { device, opened };
}

const WAYS: Readonly<Record<string, (database: IDBDatabase) => void>> = {
  "without a word": (database) => database.close(),
  "and says so": (database) => forceCloseDatabase(database as never),
};

describe("a tab whose browser closes the database", () => {
  for (const [how, closeDatabase] of Object.entries(WAYS)) {
    test(`${how} goes on to store what is called`, async () => {
      const { device, opened } = deviceWithDatabases();
      const app = await device.openTab(options);
      await app.mutate.hit({ page: "before" }).until("durable");
      opened.forEach(closeDatabase);
      await app.mutate.hit({ page: "after" }).until("durable");
      assert.deepEqual([app.connection.role, app.connection.message], ["leader", undefined]);
      await app.close();
      const next = await device.openTab(options);
      assert.deepEqual(next.pending.map(({ args }) => args), [{ page: "before" }, { page: "after" }]);
      await next.close();
    });

    test(`${how} goes on as a follower, and leads when its turn comes`, async () => {
      const { device, opened } = deviceWithDatabases();
      const leader = await device.openTab(options);
      const follower = await device.openTab(options);
      opened.forEach(closeDatabase);
      await follower.mutate.hit({ page: "followed" }).until("durable");
      opened.forEach(closeDatabase);
      await leader.close();
      await until("the lead", () => follower.connection.role === "leader");
      assert.equal(follower.pending.length, 1);
      await follower.mutate.hit({ page: "led" }).until("durable");
      await follower.close();
    });

    test(`${how} and then deletes it has lost it, and makes no new one`, async () => {
      const { device, opened } = deviceWithDatabases();
      const app = await device.openTab(options);
      opened.forEach(closeDatabase);
      const deletion = (device.indexedDB as IDBFactory).deleteDatabase(NAME);
      await new Promise((resolve) => (deletion.onsuccess = resolve));
      await assert.rejects(async () => app.mutate.hit({ page: "gone" }).until("durable"), { code: "storage" });
      await until("the loss", () => app.connection.role === "waiting");
      assert.match(app.connection.message ?? "", /deleted/);
      assert.deepEqual(await device.indexedDB?.databases(), []);
    });
  }
});

test("a storage that a newer page took while its connection was closed is lost", async () => {
  const { device, opened } = deviceWithDatabases();
  const factory = device.indexedDB as IDBFactory;
  const storage = await openIndexedDbStorage(factory, NAME);
  opened.forEach((database) => database.close());
  const newer = factory.open(NAME, 2);
  await new Promise((resolve) => (newer.onsuccess = resolve));
  await assert.rejects(storage.load(), { name: "VersionError" });
  assert.match(await storage.lost, /taken by a newer page/);
});

test("a storage that was closed by its owner is not opened again", async () => {
  const { device, opened } = deviceWithDatabases();
  const storage = await openIndexedDbStorage(device.indexedDB as IDBFactory, NAME);
  storage.close();
  await assert.rejects(storage.write([]), /was closed/);
  assert.equal(opened.length, 1);
});
