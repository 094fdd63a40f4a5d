import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { IDBObjectStore } from "fake-indexeddb";

import { newId } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";

const ROW = "r".charCodeAt(0);

type Key = Uint8Array<ArrayBuffer>;
type Store = { put(this: IDBObjectStore, value: unknown, key: Key): IDBRequest; delete(this: IDBObjectStore, key: Key): IDBRequest };

/** The storage of a user has no room for another row, or for anything, until rows were deleted. What comes back ends that. */
function fillStorage(user: string, takesCalls: boolean): () => void {
  const store = IDBObjectStore.prototype as unknown as Store;
  const { put, delete: remove } = store;
  let isFull = true;
  const isConcerned = ({ transaction }: IDBObjectStore): boolean => isFull && transaction.db.name.endsWith(`/${user}`);
  store.put = function (value, key) {
    if (isConcerned(this) && (key[0] === ROW || !takesCalls)) {
      throw new DOMException("there is no room", "QuotaExceededError");
    }
    return put.call(this, value, key);
  };
  store.delete = function (key) {
    if (isConcerned(this) && key[0] === ROW) {
      this.transaction.addEventListener("complete", () => (isFull = false));
    }
    return remove.call(this, key);
  };
  return () => void Object.assign(store, { put, delete: remove });
}

describe("a device without room", () => {
  const stage = new NotesStage();

  /** A tab whose rows are stored. */
  async function openWithRows(device: FakeDevice): Promise<App> {
    const app = await stage.open(device);
    app.observe((tx) => tx.notes.range().length).onChange(() => undefined);
    await app.mutate.addNote({ id: newId(), title: "stored" }).until("confirmed");
    return app;
  }

  test("gives up its cache, and sends what is called", { timeout: 20_000 }, async () => {
    const device = new FakeDevice();
    const app = await openWithRows(device);
    const other = await stage.open(new FakeDevice(), { user: "bob" });
    const empty = fillStorage("ann", true);
    try {
      await other.mutate.addNote({ id: newId(), title: "without room" }).until("confirmed");
      await app.mutate.hit({ page: "full" }).until("confirmed");
    } finally {
      empty();
    }
    await until("no trouble", () => app.connection.message === undefined);
    assert.equal(await app.read((tx) => tx.notes.range().length), 2, "what is held in memory is shown");
  });

  test("makes room for the calls of a tab that follows", { timeout: 20_000 }, async () => {
    const device = new FakeDevice();
    await openWithRows(device);
    const follower = await stage.open(device);
    await until("the leader", () => follower.connection.status === "online");
    const empty = fillStorage("ann", false);
    try {
      await follower.mutate.hit({ page: "followed" }).until("confirmed");
    } finally {
      empty();
    }
  });
});
