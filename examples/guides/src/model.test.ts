/** The rules of the app, with two people and a real server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { createClient, MutationError } from "@iolite/client";

import { mutators, schema, type TasksClient } from "./model.js";
import { startServer, type TestServer } from "./startServer.js";

const program = process.env["IOLITE_PROGRAM"] ?? fileURLToPath(new URL("../../../target/release/iolite", import.meta.url));
let server: TestServer;

before(async () => void (server = await startServer(program)));
after(() => server.stop());

function clientOf(user: string): Promise<TasksClient> {
  return createClient({ ...server, name: "tasks", user, schema, mutators });
}

test("what one adds, the other sees", async () => {
  const [ada, ben] = [await clientOf("ada"), await clientOf("ben")];
  await ada.mutate.addTask({ project: "garden", title: "Water the beans" }).until("confirmed");
  const tasks = await ben.read((tx) => tx.tasks.where({ project: "garden" }).all());
  assert.deepEqual(tasks.map(({ title, done }) => ({ title, done })), [{ title: "Water the beans", done: false }]);
  await Promise.all([ada.close(), ben.close()]);
});

test("two who spend the last of a budget without a network cannot both do it", async () => {
  const [ada, ben] = [await clientOf("ada"), await clientOf("ben")];
  await ada.mutate.openProject({ id: "shed", name: "Shed", budget: 100 }).until("confirmed");
  for (const one of [ada, ben]) {
    // What is pinned is on the device, also without a network.
    await new Promise<void>((isHere) => one.pin((tx) => tx.projects.get("shed"), ({ status }) => status === "ready" && isHere()));
    one.goOffline();
  }
  const [first, second] = [ada, ben].map((one) => one.mutate.spend({ project: "shed", amount: 80 }));
  ada.goOnline();
  await first?.until("confirmed");
  ben.goOnline();
  await assert.rejects(
    async () => second?.until("confirmed"),
    (error: unknown) => error instanceof MutationError && error.reason === "Only 20 of the budget is left.",
  );
  await Promise.all([ada.close(), ben.close()]);
});
