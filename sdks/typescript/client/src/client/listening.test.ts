/** Listeners of a client that listen anew, stop others, close the client or call mutators while they are called. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { asId, createClient, type Stop } from "../index.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";

const options = { url: "ws://127.0.0.1:1/sync", token: "", name: "listening", user: "ada", schema, mutators, paused: true, storage: "memory" } as const;
const ID = asId("1".repeat(32));
type App = Awaited<ReturnType<typeof open>>;
const open = () => createClient(options);

/** A way to listen (the refused list is watched as the pending one is), and what makes one change that is heard. */
type Kind = readonly [listen: (app: App, heard: () => void) => Stop, change: (app: App) => unknown];

let sizes = 10;
const KINDS: Readonly<Record<string, Kind>> = {
  "an observation": [
    (app, heard) => (observed ??= app.observe((tx) => tx.notes.get(ID)?.size)).onChange(heard),
    (app) => app.mutate.setSize({ id: ID, size: (sizes += 1) }),
  ],
  "the pending list": [(app, heard) => app.onPendingChange(heard), (app) => app.mutate.hit({ page: "a" })],
  "the connection": [(app, heard) => app.onConnectionChange(heard), (app) => (app.connection.paused ? app.goOnline() : app.goOffline())],
  "settled mutations": [(app, heard) => app.onMutationSettled(heard), (app) => app.mutate.hit({ page: "a" }).cancel()],
  "views": [(app, heard) => app.onViewsChange(heard), (app) => app.mutate.hit({ page: "a" })],
  "a handle": [
    (app, heard) => (kept ??= app.mutate.hit({ page: "b" })).onChange(heard),
    () => kept?.cancel(),
  ],
};
let observed: { onChange(heard: () => void): Stop } | undefined;
let kept: { cancel(): boolean; onChange(heard: () => void): Stop } | undefined;

const settled = () => new Promise((resolve) => setImmediate(resolve));

for (const [kind, [listen, change]] of Object.entries(KINDS)) {
  test(`a listener of ${kind} that listens anew inside of its call is called a few times, and not for ever`, async () => {
    kept = undefined;
    const app = await open();
    app.mutate.addNote({ id: ID, title: "a" });
    let calls = 0;
    let stop: Stop = listen(app, changed);
    function changed(): void {
      calls += 1;
      stop();
      stop = calls < 1000 ? listen(app, changed) : () => undefined;
    }
    await settled();
    const before = calls;
    change(app);
    await until("the change to be heard", () => calls > before);
    await settled();
    assert.ok(calls - before <= 3, `${calls - before} calls`);
    await app.close();
  });
}

test("a listener that calls a mutator, or closes the client, keeps nobody from being called", async () => {
  mock.method(console, "warn", () => undefined);
  const app = await open();
  const heard: string[] = [];
  let called = false;
  app.onPendingChange(() => {
    if (!called) {
      called = true;
      app.mutate.hit({ page: "b" });
    }
  });
  app.onPendingChange((pending) => void heard.push(`${pending.length} pending`));
  app.mutate.hit({ page: "a" });
  await settled();
  assert.equal(heard.at(-1), "2 pending");
  let closed: Promise<void> | undefined;
  app.onConnectionChange(() => (closed ??= app.close()));
  app.onConnectionChange(() => void heard.push("closed"));
  app.goOnline();
  await settled();
  await closed;
  assert.ok(closed !== undefined && heard.includes("closed"));
});
