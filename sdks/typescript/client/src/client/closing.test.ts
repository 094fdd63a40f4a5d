import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";

import { FakeDevice } from "../testing/fakeDevice.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";
import { Core } from "../wasm/iolite_wasm.js";

describe("a client that is closed", () => {
  const stage = new NotesStage();

  async function openCut(): Promise<[app: App, device: FakeDevice]> {
    const device = new FakeDevice();
    const app = await stage.open(device);
    device.cut = true;
    await until("the cut", () => app.connection.status !== "online");
    return [app, device];
  }

  test("by a closure of its own stores what was called, and asks its core for nothing more", async () => {
    const device = new FakeDevice();
    const app = await stage.open(device);
    await until("the connection", () => app.connection.status === "online");
    app.goOffline();
    const hit = app.mutate.hit({ page: "own" });
    let closing: Promise<void> | undefined;
    app.observe(() => void (closing = app.close()));
    assert.ok(closing !== undefined);
    await closing;
    const calls = (["poll", "deadline", "onDeadline"] as const).map((name) => mock.method(Core.prototype, name));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    device.wake();
    calls.forEach(({ mock }) => mock.restore());
    assert.deepEqual(calls.map(({ mock }) => mock.callCount()), [0, 0, 0]);
    const next = await stage.open(device, { paused: true });
    assert.deepEqual(next.pending.map(({ id }) => id), [hit.id]);
    await next.close();
  });

  test("answers who waits for a mutation, before and afterwards, and takes none back", async () => {
    const [app, device] = await openCut();
    const hit = app.mutate.hit({ page: "left" });
    await hit.until("durable");
    const early = hit.until("confirmed");
    await app.close();
    await assert.rejects(early, { code: "closed" });
    await assert.rejects(hit.until("confirmed"), { code: "closed" });
    await hit.until("durable");
    assert.equal(hit.cancel(), false);
    device.cut = false;
    const next = await stage.open(device);
    await until("the end", () => next.connection.status === "online" && next.pending.length === 0);
    assert.equal(await next.read((tx) => tx.hits.get("left")), 1);
  });

  test("stores what waited behind another write", async () => {
    const device = new FakeDevice();
    const app = await stage.open(device);
    await app.mutate.claim({ page: "twice" }).until("confirmed");
    await assert.rejects(app.mutate.claim({ page: "twice" }).until("confirmed"), { code: "rejected" });
    const release = await device.holdStorage("iolite/notes/ann");
    app.mutate.hit({ page: "held" });
    app.refused.forEach(({ id }) => app.dismiss(id));
    const closing = app.close();
    release();
    await closing;
    const next = await stage.open(device, { paused: true });
    assert.deepEqual([next.pending.length, next.refused.length], [1, 0]);
    await next.close();
  });

  test("answers who waits for a read, and refuses further ones", async () => {
    const device = new FakeDevice();
    const app = await stage.open(device, { paused: false });
    const reading = app.read((tx) => tx.hits.get("unread"));
    await app.close();
    await assert.rejects(reading, { code: "closed" });
    await assert.rejects(app.read((tx) => tx.hits.get("unread")), { code: "closed" });
  });
});
