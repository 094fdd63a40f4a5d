import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import type { ClientOf, ClientOptions } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";
import type { SettledMutation } from "../client/types.js";
import { openIndexedDbStorage } from "./indexedDbStorage.js";

type App = ClientOf<typeof mutators>;

describe("a device", () => {
  let server: DevServer;
  let options: ClientOptions<typeof schema, (typeof mutators)["byName"]>;

  before(async () => {
    server = await startDevServer();
    options = { url: server.url, token: server.token, name: "notes", user: "ann", schema, mutators };
  });
  after(() => server.stop());

  const hitsOf = (app: App, page: string): Promise<number> => app.read((tx) => tx.hits.get(page) ?? 0);

  test("keeps rows and pending mutations over a restart without a connection, and they take effect once", async () => {
    const device = new FakeDevice();
    const first = await device.openTab(options);
    await first.mutate.hit({ page: "kept" }).until("confirmed");
    assert.equal(await hitsOf(first, "kept"), 1);
    device.cut = true;
    await first.mutate.hit({ page: "kept" }).until("durable");
    const offline = first.mutate.hit({ page: "kept" });
    await offline.until("durable");
    await first.close();

    const second = await device.openTab(options);
    assert.deepEqual(second.pending.map(({ name, args }) => [name, args]), [
      ["hit", { page: "kept" }],
      ["hit", { page: "kept" }],
    ]);
    assert.equal(second.pending[1]?.id, offline.id, "its id is the same after the restart");
    assert.equal(await hitsOf(second, "kept"), 3, "the rows are there without a connection");
    const settled: SettledMutation[] = [];
    second.onMutationSettled((mutation) => settled.push(mutation));
    device.cut = false;
    second.goOnline();
    await until("both", () => settled.length === 2);
    assert.deepEqual(settled.map(({ name, status }) => [name, status.state]), [
      ["hit", "confirmed"],
      ["hit", "confirmed"],
    ]);
    await second.close();

    const other = await new FakeDevice().openTab(options);
    assert.equal(await hitsOf(other, "kept"), 3);
    await other.close();
  });

  test("keeps one user's data from another", async () => {
    const device = new FakeDevice();
    device.cut = true;
    const ann = await device.openTab(options);
    await ann.mutate.hit({ page: "mine" }).until("durable");
    const bob = await device.openTab({ ...options, user: "bob" });
    assert.deepEqual([ann.pending.length, bob.pending.length, bob.connection.role], [1, 0, "leader"]);
    await Promise.all([ann.close(), bob.close()]);
  });

  test("without IndexedDB, or without Web Locks, works in memory and says so", async () => {
    const device = new FakeDevice();
    device.locks = undefined;
    const app = await device.openTab(options);
    assert.equal(app.connection.storage, "memory");
    assert.match(app.connection.message ?? "", /memory only.*Web Locks/);
    await app.mutate.hit({ page: "memory" }).until("confirmed");
    await app.close();
    device.indexedDB = undefined;
    const other = await device.openTab(options);
    assert.match(other.connection.message ?? "", /no IndexedDB/);
    await other.close();
  });

  test("with a storage of a newer release refuses it, and leaves it as it is", async () => {
    const device = new FakeDevice();
    const factory = device.indexedDB;
    assert.ok(factory !== undefined);
    const entry = [Uint8Array.of(255), Uint8Array.of(1)];
    const storage = await openIndexedDbStorage(factory, "iolite/notes/ann");
    await storage.write(entry);
    storage.close();
    await assert.rejects(device.openTab(options), { code: "storage" });
    await assert.rejects(device.openTab(options), { code: "storage" }, "the lead was given back");
    assert.deepEqual(await (await openIndexedDbStorage(factory, "iolite/notes/ann")).load(), entry);
  });

  test("whose browser forbids the address works offline, and says why", async () => {
    const device = new FakeDevice();
    device.forbidden = new DOMException("an insecure connection from a secure page", "SecurityError");
    const app = await device.openTab(options);
    await until("the reason", () => app.connection.message !== undefined);
    assert.match(app.connection.message ?? "", /to this address is allowed.*insecure connection/);
    await app.mutate.hit({ page: "forbidden" }).until("durable");
    device.forbidden = undefined;
    app.goOnline();
    await until("the end", () => app.pending.length === 0);
    assert.equal(app.connection.message, undefined);
    await app.close();
  });

  test("where locks are forbidden works in memory", async () => {
    const device = new FakeDevice();
    device.locks = { request: () => Promise.reject(new DOMException("no", "SecurityError")) } as never;
    const app = await device.openTab(options);
    assert.equal(app.connection.storage, "memory");
    await app.close();
  });
});
