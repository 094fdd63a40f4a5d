/** Links to a server of the test's own. */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { WebSocketServer } from "ws";

import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";
import { nodeWebSocket } from "./nodeWebSocket.js";
import { openWebSocketLink } from "./webSocketLink.js";

let server: WebSocketServer;
let url: string;

before(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (socket) => socket.close(1013, "the server moves"));
  await once(server, "listening");
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/sync`;
});
after(() => server.close());

test("a link that the other side ends says why, and one that was closed here says nothing", async () => {
  const implementation = await nodeWebSocket();
  const told: (string | undefined)[] = [];
  const open = (lost: (why?: string) => void) => openWebSocketLink(implementation, url, { opened: () => undefined, frame: () => undefined, lost });
  const closed = open((why) => told.push(why));
  closed.close();
  await new Promise<void>((resolve) => {
    open((why) => {
      told.push(why);
      resolve();
    });
  });
  assert.deepEqual(told, ["the server moves"]);
});

test("a client whose connection is ended by the other side says why", async (t) => {
  const app = await new FakeDevice().openTab({ url, token: "", name: "notes", user: "ann", schema, mutators });
  t.after(() => app.close());
  await until("the reason", () => app.connection.message !== undefined);
  assert.deepEqual([app.connection.message, app.connection.refusal], ["the server moves", undefined]);
});
