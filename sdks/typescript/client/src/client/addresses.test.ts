import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { test } from "node:test";

import { createClient } from "../index.js";
import { startDevServer, startTwoGateways } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";

/** Takes connections and says nothing, as a server does that stands still. */
async function startSilence(): Promise<{ url: string; stop(): void }> {
  const server = createServer((socket) => void socket.on("error", () => undefined));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  return { url: `ws://127.0.0.1:${address.port}/sync`, stop: () => void server.close() };
}

test("a client of several addresses finds the server that answers, wherever it stands in the list", async () => {
  const [server, silence] = [await startDevServer(), await startSilence()];
  try {
    // Each client draws an order of its own: of so many, some begin at each.
    const clients = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        createClient({
          url: ["ws://127.0.0.1:1/sync", silence.url, server.url],
          token: server.token,
          name: `several-${number}`,
          user: "ada",
          batch: { ms: 20 },
          schema,
          mutators,
        }),
      ),
    );
    await Promise.all(clients.map((client) => client.mutate.hit({ page: "several" }).until("confirmed")));
    await Promise.all(clients.map((client) => client.close()));
  } finally {
    silence.stop();
    await server.stop();
  }
});

test("a client calls data unavailable when it has tried every address, and not before", async (t) => {
  const device = new FakeDevice();
  device.cut = true;
  const url = [1, 2, 3].map((port) => `ws://127.0.0.1:${port}/sync`);
  const client = await device.openTab({ url, token: "0".repeat(32), name: "tried", user: "ada", schema, mutators });
  t.after(() => client.close());
  const tried: number[] = [];
  client.react((tx) => tx.hits.get("far"), {}, ({ status }) => status === "unavailable" && tried.push(device.attempts));
  await assert.rejects(client.read((tx) => tx.hits.get("far")), { code: "unavailable" });
  assert.deepEqual(tried, [url.length]);
});

test("clients of two gateways go on at the other one when theirs is killed, and lose nothing and do nothing twice", { timeout: 60_000 }, async (t) => {
  const cluster = await startTwoGateways();
  t.after(() => cluster.stop());
  const open = async (name: string) => {
    const client = await createClient({ url: cluster.urls, token: cluster.token, name, user: "ada", schema, mutators });
    t.after(() => client.close());
    return client;
  };
  const clients = await Promise.all(["ann", "ben"].map(open));
  await until("the connections", () => clients.every(({ connection }) => connection.status === "online"));
  const moved = new Set<unknown>();
  clients.forEach((client) => client.onConnectionChange(({ status }) => status === "online" && moved.add(client)));
  const seen = clients.map((client) => {
    const counts: (number | undefined)[] = [];
    client.react((tx) => tx.hits.get("moved"), { view: "confirmed" }, ({ status, data }) => status === "ready" && counts.push(data));
    return counts;
  });
  const hit = () => clients.map((client) => client.mutate.hit({ page: "moved" }));
  let hits = 0;
  for (const victim of [0, 1]) {
    // One hit of each is on its way when the gateway is killed, another one is made while nobody is there.
    const early = hit();
    await cluster.kill(victim);
    const calls = [...early, ...hit()];
    await Promise.all(calls.map((call) => call.until("confirmed")));
    hits += calls.length;
    await until("what both did, at both", () => seen.every((counts) => counts.at(-1) === hits));
    // Both are at the other gateway now, which is the next one to be killed.
    await cluster.startAll();
  }
  assert.equal(moved.size, clients.length, "each has lost its gateway");
  assert.equal(await (await open("new")).read((tx) => tx.hits.get("moved"), { view: "confirmed" }), hits);
});
