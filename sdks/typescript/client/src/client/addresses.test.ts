import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { test } from "node:test";

import { createClient } from "../index.js";
import { startDevServer } from "../testing/devServer.js";
import { mutators, schema } from "../testing/notesApp.js";

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
