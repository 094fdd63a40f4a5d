/** Objects that a page keeps, in a fake of IndexedDB, with a real server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { IDBFactory, IDBKeyRange } from "fake-indexeddb";

import { platform } from "#platform";

import { definitionFor, type ObjectClass } from "../define/definition.js";
import { addressOfObjects } from "../host/address.js";
import { Host } from "../host/host.js";
import { CallError, connectObjects, type ObjectHost } from "../index.js";
import { Pocket } from "../testing/classes.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { type KeptObject, Shelf, type ShelfPlace } from "./shelf.js";

globalThis.IDBKeyRange ??= IDBKeyRange;

let server: DevServer;
let other: ObjectHost;

before(async () => {
  server = await startDevServer();
  other = await connectObjects({ url: server.url, token: server.token, classes: [Pocket] });
});

after(async () => {
  other?.close();
  await server?.stop();
});

/** A device with a disk of its own, and its first tab. Browsers give locks after a while. */
function newDevice(): ShelfPlace {
  const held = new Set<string>();
  const request = async (name: string, { signal, ifAvailable }: LockOptions, act: (lock: Lock | null) => unknown): Promise<unknown> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    while (held.has(name)) {
      if (ifAvailable === true) {
        return act(null);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
      signal?.throwIfAborted();
    }
    held.add(name);
    try {
      return await act({ name, mode: "exclusive" });
    } finally {
      held.delete(name);
    }
  };
  return anotherTab({ indexedDB: new IDBFactory(), locks: { request } as unknown as ShelfPlace["locks"] });
}

function anotherTab({ indexedDB, locks }: Omit<ShelfPlace, "tab">): ShelfPlace {
  const tab = new Map<string, string>();
  return { indexedDB, locks, tab: { getItem: (key) => tab.get(key) ?? null, setItem: (key, value) => void tab.set(key, value) } };
}

/** A page of a device, once it is connected, or sent away. */
async function page(device: ShelfPlace, classes: readonly ObjectClass<object>[] = [Pocket], token = server.token): Promise<{ host: Host; shelf: Shelf }> {
  const shelf = await Shelf.open(device, "ann");
  await platform.load();
  let opened: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (opened = resolve));
  const definitions = new Map(classes.map(definitionFor).map((definition) => [definition.name, definition]));
  const settings = { url: addressOfObjects(server.url), token, definitions, serves: false, node: shelf.node.node, shelf };
  const host = new Host({ ...settings, callMs: 10_000, onConnection: ({ state }) => (state === "open" || state === "ended") && opened(), onTrouble: () => undefined }, platform);
  await open;
  return { host, shelf };
}

test("a page that is opened again has its objects, and others call them there", async () => {
  const device = newDevice();
  const { host: first } = await page(device);
  const pocket = await first.create(Pocket, "kept", new Pocket(5));
  await pocket.add(2);
  const there = (await other.find(Pocket, "kept")) ?? assert.fail();
  await there.add(1);
  const [name] = (first.node ?? assert.fail()).split("#");
  first.close();
  const { host: second } = await page(device);
  assert.equal(second.node?.split("#")[0], name);
  await there.add(10);
  assert.equal(await there.count(), 18, "nothing that was answered is lost");
  assert.equal(await (await second.get(Pocket, "kept", () => assert.fail("it is there"))).count(), 18);
  second.close();
});

test("a second tab has another node, and objects of its own, also after both were closed", async () => {
  const one = newDevice();
  const other = anotherTab(one);
  const [first, second] = [await page(one), await page(other)];
  assert.notEqual(first.host.node, second.host.node);
  await second.host.create(Pocket, "second", new Pocket(1));
  first.host.close();
  second.host.close();
  const again = await page(other);
  assert.equal(again.shelf.node.node, second.shelf.node.node);
  assert.deepEqual(
    again.shelf.objects.map(({ id }) => id),
    ["second"],
  );
  again.host.close();
});

test("an object that a page cannot make stays on the disk, and is there for a page that can", async () => {
  const device = newDevice();
  const { host: first } = await page(device);
  await first.create(Pocket, "stays", new Pocket(5));
  first.close();
  const { host: second } = await page(device, []);
  const there = (await other.find(Pocket, "stays")) ?? assert.fail("its row is there");
  const failed = await there.count().then(() => assert.fail(), (error: unknown) => error);
  assert.ok(failed instanceof CallError && failed.reason === "wrongVersion", String(failed));
  second.close();
  const { host: third } = await page(device);
  assert.equal(await there.count(), 5);
  third.close();
});

test("what a user has kept is there for that user, and for nobody else", async () => {
  const device = newDevice();
  const of = (sub: string): string => `${server.token} as ${JSON.stringify({ sub })}`;
  const { host: first } = await page(device, [Pocket], of("ann"));
  await first.create(Pocket, "of ann", new Pocket(5));
  first.close();
  const { host: second, shelf } = await page(device, [Pocket], of("bob"));
  assert.ok(second.connection.state === "ended" && /another user/.test(second.connection.message), JSON.stringify(second.connection));
  assert.equal((await kept(shelf)).length, 1);
  second.close();
  const { host: third } = await page(device, [Pocket], of("ann"));
  const there = (await other.find(Pocket, "of ann")) ?? assert.fail("its row is there");
  assert.equal(await there.count(), 5);
  third.close();
});

test("what was kept in a life that is over is nobody's", async () => {
  const device = newDevice();
  const { host, shelf } = await page(device);
  await host.create(Pocket, "left", new Pocket(3));
  host.close();
  // It is begun anew by another node, as this one has another life.
  const stranger = await connectObjects({ url: server.url, token: server.token, classes: [Pocket], node: shelf.node.node });
  const anew = await other.get(Pocket, "left", () => new Pocket(100));
  assert.equal(await anew.count(), 100);
  stranger.close();
  const { host: again, shelf: same } = await page(device);
  assert.equal(await (await again.find(Pocket, "left"))?.count(), 100);
  assert.deepEqual(await kept(same), []);
  again.close();
});

async function kept({ database }: Shelf): Promise<KeptObject[]> {
  const asked = database.transaction("kept").objectStore("kept").getAll(IDBKeyRange.lowerBound([]));
  return new Promise((resolve) => (asked.onsuccess = () => resolve(asked.result as KeptObject[])));
}

test("a write that cannot be kept is told", async () => {
  const { host, shelf } = await page(newDevice());
  const pocket = await host.create(Pocket, "full", new Pocket(0));
  shelf.database.close();
  const failed = await pocket.add(1).then(() => assert.fail(), (error: unknown) => error);
  assert.ok(failed instanceof CallError && failed.kind === "broke", String(failed));
  assert.match(failed.message, /could not be kept on this device/);
  host.close();
});
