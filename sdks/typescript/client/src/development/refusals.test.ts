import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

import { createClient, defineMutators, defineSchema, s, table } from "../index.js";
import type { ConnectionState } from "../client/types.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { adviceOf } from "./advice.js";
import { tellRefusals } from "./tellRefusals.js";

const ONLINE: ConnectionState = { status: "online", role: "leader", storage: "memory", persistent: false, message: undefined, refusal: undefined, paused: false };
const REFUSED: ConnectionState = { ...ONLINE, status: "refused", refusal: "unauthorized", message: "the token is wrong" };

/** A client whose connection a test sets. */
function clientWith(first: ConnectionState) {
  const listeners = new Set<(state: ConnectionState) => void>();
  return {
    connection: first,
    set(state: ConnectionState): void {
      this.connection = state;
      listeners.forEach((listener) => listener(state));
    },
    onConnectionChange(listener: (state: ConnectionState) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => Promise.resolve(),
  };
}

test("each refusal is said once for its cause, with what to do, and again after another", async () => {
  const said: string[] = [];
  const client = clientWith(ONLINE);
  tellRefusals(client, { development: true, isNode: false, say: (line) => void said.push(line) });
  client.set(REFUSED);
  client.set({ ...REFUSED });
  client.set({ ...REFUSED, refusal: "schema", message: 'table "t"' });
  assert.equal(said.length, 2);
  assert.match(said[0] ?? "", /\(unauthorized\): the token is wrong\. Give the token of this server: .* nothing is lost/);
  assert.match(said[1] ?? "", /\(schema\): table "t"\. Change the schema back/);
  await client.close();
  client.set(REFUSED);
  assert.equal(said.length, 2, "a closed client says nothing");
});

test("nothing is said while all is well, nor by a page in production", () => {
  const said: string[] = [];
  assert.equal(adviceOf(ONLINE), undefined);
  tellRefusals(clientWith(ONLINE), { development: true, isNode: true, say: (line) => void said.push(line) });
  tellRefusals(clientWith(REFUSED), { development: false, isNode: false, say: (line) => void said.push(line) });
  assert.deepEqual(said, []);
});

test("a wrong token in Node is said, and the process stays alive until it closes the client", async () => {
  const server = await startDevServer();
  const script = `
    const { createClient, defineMutators, defineSchema, live, s } = await import(${JSON.stringify(new URL("../index.js", import.meta.url).href)});
    const schema = defineSchema({ hits: live(s.counter()) });
    const client = await createClient({ url: ${JSON.stringify(server.url)}, token: "wrong", name: "a", user: "b", schema, mutators: defineMutators(schema, {}) });
    // A timer that keeps nothing alive: it is reached only if something else does.
    const end = () => setTimeout(() => (console.error("was alive"), client.close()), 20).unref();
    client.onConnectionChange(({ status }) => status === "refused" && end());`;
  // As a program has it, and no test: the runner's variable says that a test is under way.
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const env = { ...own, NODE_ENV: "production" };
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["ignore", "ignore", "pipe"], env });
  let said = "";
  child.stderr.on("data", (chunk) => (said += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  assert.match(said, /this client is refused \(unauthorized\): .*Give the token of this server/);
  assert.match(said, /was alive/);
  assert.equal(code, 0, "it ends by itself once the client is closed");
  await server.stop();
});

test("a column of another type than the server's is named, with what to do", async () => {
  const server: DevServer = await startDevServer();
  const said: string[] = [];
  const open = async (column: ReturnType<typeof s.int> | ReturnType<typeof s.string>) => {
    const schema = defineSchema({ notes: table({ id: s.id(), size: column }) });
    return createClient({ url: server.url, token: server.token, name: "a", user: "b", schema, mutators: defineMutators(schema, {}), development: true });
  };
  const first = await open(s.int());
  await new Promise<void>((resolve) => void first.onConnectionChange(({ status }) => status === "online" && resolve()));
  const log = console.error;
  console.error = (line: string) => void said.push(line);
  const second = await open(s.string());
  await new Promise<void>((resolve) => void second.onConnectionChange(({ status }) => status === "refused" && resolve()));
  await new Promise((resolve) => setImmediate(resolve));
  console.error = log;
  assert.match(said.join("\n"), /\(schema\): .*notes.*size.*A schema may only grow/);
  await Promise.all([first.close(), second.close()]);
  await server.stop();
});
