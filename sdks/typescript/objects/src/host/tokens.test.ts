/** Hosts that ask the app for tokens, and hosts of users, with a real server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Connection, connectObjects, type ObjectHost } from "../index.js";
import { Box } from "../testing/classes.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";

let server: DevServer;
let service: ObjectHost;

before(async () => {
  server = await startDevServer();
  service = await connectObjects({ url: server.url, token: server.token, classes: [Box], kind: "server" });
});

after(async () => {
  service?.close();
  await server?.stop();
});

test("methods see the user for whom the development token speaks", async (t) => {
  const ann = await connectObjects({ url: server.url, token: server.token, as: { sub: "ann", roles: ["editor"] } });
  t.after(() => ann.close());
  const box = await ann.create(Box, "of ann", new Box());
  assert.equal(await box.pass("milk", 0), "milk at of ann for ann");
});

test("a device of a user is another node than the same device of somebody else", async (t) => {
  const node = crypto.randomUUID();
  const hosts = await Promise.all(["ann", "bob"].map((sub) => connectObjects({ url: server.url, token: server.token, as: { sub }, node })));
  t.after(() => hosts.forEach((host) => host.close()));
  const [ann, bob] = hosts;
  assert.notEqual(ann?.node, bob?.node);
  assert.deepEqual([ann?.connection, bob?.connection], [{ state: "open" }, { state: "open" }], "neither takes the other's place");
});

test("a function is asked for tokens until it has one, and one question is open at a time", async (t) => {
  const states: Connection[] = [];
  let [asked, open] = [0, 0];
  const token = async (): Promise<string> => {
    assert.equal(++open, 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    open -= 1;
    if (++asked === 1) {
      throw new Error("nobody is signed in");
    }
    return server.token;
  };
  const host = await connectObjects({ url: server.url, token, onConnection: (connection) => states.push(connection) });
  t.after(() => host.close());
  assert.deepEqual(states, [{ state: "refused", message: "nobody is signed in" }, { state: "open" }]);
  assert.equal(asked, 2);
  const box = await host.create(Box, "of a function", new Box());
  assert.equal(await box.put("milk"), 1);
});

test("a token that the server refuses is asked for anew", async (t) => {
  const states: Connection["state"][] = [];
  const tokens = ["wrong", server.token];
  const token = (): string => tokens.shift() ?? assert.fail("it has a token");
  const host = await connectObjects({ url: server.url, token, onConnection: ({ state }) => states.push(state) });
  t.after(() => host.close());
  assert.deepEqual(states, ["refused", "open"]);
});

test("mistakes in the options are told", async () => {
  const connect = (options: object): Promise<ObjectHost> => connectObjects({ url: server.url, token: server.token, ...options });
  await assert.rejects(connect({ token: 7 }), /token is a text, or a function that gives one/);
  await assert.rejects(connect({ as: {} }), /as needs sub/);
  await assert.rejects(connect({ as: { sub: "ann", level: 1.5 } }), /as.level is a text, a whole number/);
  await assert.rejects(connect({ as: { sub: "ann" }, kind: "server" }), /a user is no part of the service/);
  await assert.rejects(connect({ as: { sub: "ann" }, token: () => "" }), /leave as out/);
  await assert.rejects(connect({ as: { sub: "server" } }), /another `sub`/);
});
