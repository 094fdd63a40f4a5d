import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";

import { defineMutators, defineSchema, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";
import { Core } from "../wasm/iolite_wasm.js";

describe("a tab that cannot work", () => {
  const stage = new NotesStage();

  async function openTwo(): Promise<[leader: App, follower: App]> {
    const device = new FakeDevice();
    const leader = await stage.open(device);
    await until("the connection", () => leader.connection.status === "online");
    const follower = await stage.open(device);
    await until("the leader", () => follower.connection.status === "online");
    return [leader, follower];
  }

  const trap = (): never => {
    throw new WebAssembly.RuntimeError("unreachable");
  };

  /** The errors that nobody catches while this is done. */
  async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
    const errors: unknown[] = [];
    const note = (error: unknown): void => void errors.push(error);
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", note);
    try {
      await work();
    } finally {
      process.removeListener("uncaughtException", note);
      before.forEach((listener) => process.on("uncaughtException", listener));
    }
    return errors;
  }

  test("as its IndexedDB fails works in memory, and does not lead the others", async () => {
    const device = new FakeDevice();
    const factory = device.indexedDB;
    device.indexedDB = { open: trap } as never;
    const first = await stage.open(device);
    assert.equal(first.connection.storage, "memory");
    device.indexedDB = factory;
    const second = await stage.open(device);
    assert.deepEqual([second.connection.storage, second.connection.role], ["indexeddb", "leader"]);
    await second.mutate.hit({ page: "beside" }).until("confirmed");
  });

  test("as its schema is refused beside a tab that leads does not lead later", async () => {
    const device = new FakeDevice();
    const leader = await stage.open(device);
    const schema = defineSchema({ "my-notes": table({ id: s.string() }) });
    const refused = device.openTab({ ...stage.options, schema, mutators: defineMutators(schema, {}) });
    await assert.rejects(refused, { code: "schema" });
    await leader.close();
    assert.equal((await stage.open(device)).connection.role, "leader");
  });

  test("as its core could not be loaded does not keep the lead", async () => {
    const device = new FakeDevice();
    const { loadCore } = device;
    device.loadCore = () => Promise.reject(new Error("the network is gone"));
    await assert.rejects(stage.open(device), /the network is gone/);
    device.loadCore = loadCore;
    assert.equal((await stage.open(device)).connection.role, "leader");
  });

  test("as its database was deleted says so, and lets another one lead", async () => {
    const device = new FakeDevice();
    const app = await stage.open(device);
    await until("the connection", () => app.connection.status === "online");
    device.indexedDB?.deleteDatabase("iolite/notes/ann");
    await until("the loss", () => app.connection.role === "waiting");
    assert.match(app.connection.message ?? "", /deleted.*load the page again/);
    assert.throws(() => app.mutate.hit({ page: "deleted" }), { code: "storage" });
    const second = await stage.open(device);
    await second.mutate.hit({ page: "deleted" }).until("confirmed");
  });

  for (const [when, method] of [
    ["takes a frame", "frame"],
    ["is asked for its deadline", "deadline"],
    ["is asked what to do", "poll"],
  ] as const) {
    test(`as its core broke when it ${when} says so, answers what waits, and lets another one lead`, async () => {
      const [leader, follower] = await openTwo();
      const errors = await uncaughtIn(async () => {
        const broken = mock.method(Core.prototype, "frame", function (this: Core) {
          broken.mock.restore();
          if (method === "frame") {
            trap();
          }
          mock.method(this, method, trap);
        });
        await assert.rejects(leader.mutate.hit({ page: when }).until("confirmed"), { code: "failed", message: /has a bug/ });
        await until("the error", () => leader.connection.role === "waiting");
      });
      assert.ok(errors.length > 0, "the page hears of it");
      assert.match(leader.connection.message ?? "", /has a bug.*load the page again/);
      assert.throws(() => leader.mutate.hit({ page: when }), { code: "failed" });
      await until("another leader", () => follower.connection.role === "leader");
      await follower.mutate.hit({ page: when }).until("confirmed");
      await leader.close();
    });
  }
});
