import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { IDBFactory, IDBKeyRange } from "fake-indexeddb";

import { openIndexedDbStorage } from "./indexedDbStorage.js";
import type { Changes, Storage } from "./storage.js";
import { WriteQueue } from "./writeQueue.js";

globalThis.IDBKeyRange ??= IDBKeyRange;

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

test("what was written is loaded, and what was deleted is not", async () => {
  const factory = new IDBFactory();
  const storage = await openIndexedDbStorage(factory, "a");
  await storage.write([bytes(1), bytes(10), bytes(2), bytes(20), bytes(3), bytes()]);
  await storage.write([bytes(2), undefined, bytes(1), bytes(11)]);
  storage.close();
  const loaded = await (await openIndexedDbStorage(factory, "a")).load();
  assert.deepEqual(loaded, [bytes(1), bytes(11), bytes(3), bytes()]);
});

test("a write of which a part is refused at once writes nothing", async () => {
  const storage = await openIndexedDbStorage(new IDBFactory(), "a");
  const refused = {} as Uint8Array;
  await assert.rejects(async () => storage.write([bytes(1), bytes(1), refused, bytes(2)]), { name: "DataError" });
  assert.deepEqual(await storage.load(), []);
});

test("every write asks for strict durability, and is one transaction", async () => {
  const factory = new IDBFactory();
  const storage = await openIndexedDbStorage(factory, "a");
  const asked = mock.method((await import("fake-indexeddb")).IDBDatabase.prototype, "transaction");
  await storage.write([bytes(1), bytes(1), bytes(2), bytes(2)]);
  asked.mock.restore();
  assert.deepEqual(asked.mock.calls.map((call) => call.arguments as unknown), [
    ["entries", "readwrite", { durability: "strict" }],
  ]);
});

test("a batch is reported only when it is written, and a failed one is tried again before those behind it", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const events: string[] = [];
  let failures = 1;
  const storage: Storage = {
    kind: "memory",
    lost: new Promise(() => undefined),
    load: () => Promise.resolve([]),
    lead: () => Promise.resolve([]),
    follow: () => undefined,
    leads: () => Promise.resolve(true),
    isFenced: () => Promise.resolve(false),
    loadBeginningWith: () => Promise.resolve([bytes(111)]),
    write: async (changes: Changes) => {
      await Promise.resolve();
      if (failures > 0) {
        failures -= 1;
        throw new Error("the disk is full");
      }
      events.push(`wrote ${changes[0]?.[0]}`);
    },
    close: () => events.push("closed"),
    erase: () => Promise.reject(new Error("nobody signs out")),
  };
  const queue = new WriteQueue(storage, {
    written: (id) => events.push(`reported ${id}`),
    trouble: (message) => events.push(message ?? "works again"),
    overtaken: () => undefined,
    full: () => events.push("full"),
  });
  queue.push(1, [bytes(1), undefined]);
  queue.push(2, [bytes(2), undefined]);
  queue.readBeginningWith(111, ([read]) => events.push(`read ${read?.[0]}`));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(events, ["this device cannot store data: the disk is full"]);
  context.mock.timers.tick(2000);
  await queue.close();
  assert.deepEqual(events.slice(1), ["wrote 1", "works again", "reported 1", "wrote 2", "reported 2", "read 111", "closed"]);
});

test("while it settles a failed batch is given up with those behind it, and the storage stays open", async () => {
  const events: string[] = [];
  const storage: Storage = {
    kind: "memory",
    lost: new Promise(() => undefined),
    load: () => Promise.resolve([]),
    lead: () => Promise.resolve([]),
    follow: () => undefined,
    leads: () => Promise.resolve(true),
    isFenced: () => Promise.resolve(false),
    loadBeginningWith: () => Promise.resolve([]),
    write: () => Promise.reject(new Error("the disk is full")),
    close: () => events.push("closed"),
    erase: () => Promise.reject(new Error("nobody signs out")),
  };
  const queue = new WriteQueue(storage, { written: (id) => events.push(`reported ${id}`), trouble: () => events.push("trouble"), full: () => events.push("full"), overtaken: () => events.push("overtaken") });
  queue.push(1, []);
  queue.push(2, []);
  await queue.settle();
  assert.deepEqual([events, queue.isIdle], [["trouble"], true]);
});

test("what is read by the first byte of its key is all of that, and nothing else", async () => {
  const storage = await openIndexedDbStorage(new IDBFactory(), "a");
  await storage.write([bytes(110, 255), bytes(1), bytes(111), bytes(2), bytes(111, 255, 255), bytes(3), bytes(112), bytes(4)]);
  assert.deepEqual(await storage.loadBeginningWith(111), [bytes(111), bytes(2), bytes(111, 255, 255), bytes(3)]);
});

test("what takes the place of batches that had no room is tried at once, and from then on after a pause", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const events: string[] = [];
  let room = 0;
  const storage: Storage = {
    kind: "memory",
    lost: new Promise(() => undefined),
    load: () => Promise.resolve([]),
    lead: () => Promise.resolve([]),
    follow: () => undefined,
    leads: () => Promise.resolve(true),
    isFenced: () => Promise.resolve(false),
    loadBeginningWith: () => Promise.resolve([]),
    write: async (changes: Changes) => {
      await Promise.resolve();
      events.push(`tried ${changes[0]?.[0]}`);
      if (changes.length > room) {
        throw new DOMException("there is no room", "QuotaExceededError");
      }
    },
    close: () => undefined,
    erase: () => Promise.reject(new Error("nobody signs out")),
  };
  let full = 0;
  const queue: WriteQueue = new WriteQueue(storage, {
    written: (id) => events.push(`reported ${id}`),
    trouble: (message) => events.push(message === undefined ? "works again" : "trouble"),
    overtaken: () => undefined,
    full: () => {
      full += 1;
      queueMicrotask(() => {
        queue.drop();
        queue.push(10 + full, [bytes(10 + full), undefined]);
      });
    },
  });
  queue.push(1, [bytes(1), undefined]);
  queue.push(2, [bytes(2), undefined]);
  await turn();
  assert.deepEqual(events.splice(0), ["tried 1", "trouble", "tried 11", "trouble"]);
  room = 2;
  await turn();
  assert.deepEqual(events.splice(0), [], "it waits");
  context.mock.timers.tick(2000);
  await queue.close();
  assert.deepEqual(events, ["tried 12", "works again", "reported 12"]);
});
