import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";

import { createClient, developmentServer } from "../index.js";
import { mutators, schema } from "../testing/notesApp.js";
import { startDevServer } from "../testing/devServer.js";

const PAGE = "https://example.com";

afterEach(() => {
  mock.restoreAll();
  Reflect.deleteProperty(globalThis, "localStorage");
});

function answer(respond: () => Response): void {
  mock.method(globalThis, "fetch", async () => respond());
}

function storage(): Map<string, string> {
  const items = new Map<string, string>();
  const value = { getItem: (name: string) => items.get(name) ?? null, setItem: (name: string, text: string) => void items.set(name, text) };
  Object.defineProperty(globalThis, "localStorage", { configurable: true, value });
  return items;
}

test("a client connects with what the development server tells", async () => {
  const server = await startDevServer();
  try {
    const found = await developmentServer(server.url.replace("ws:", "http:"));
    assert.deepEqual(found, { url: server.url, token: server.token });
    const client = await createClient({ ...found, name: "found", user: "ada", schema, mutators });
    await client.mutate.hit({ page: "found" }).until("confirmed");
    await client.close();
  } finally {
    await server.stop();
  }
});

test("the address of sessions is that of the page, as secure as it", async () => {
  answer(() => Response.json({ url: "/sync", token: "t" }));
  assert.deepEqual(await developmentServer(PAGE), { url: "wss://example.com/sync", token: "t" });
});

test("without the server, what it said last is given, and else an error says what is missing", async () => {
  answer(() => Response.error());
  await assert.rejects(developmentServer(PAGE), { code: "unavailable", message: /iolite dev.*example\.com\/iolite\.json/ });
  const items = storage();
  await assert.rejects(developmentServer(PAGE), { code: "unavailable" });
  answer(() => Response.json({ url: "/sync", token: "last" }));
  await developmentServer(PAGE);
  assert.equal(items.size, 1);
  answer(() => Response.error());
  assert.deepEqual(await developmentServer(PAGE), { url: "wss://example.com/sync", token: "last" });
});

test("a page in the place of the answer, as bundlers give it, is no answer", async () => {
  answer(() => new Response("<!doctype html>"));
  await assert.rejects(developmentServer(PAGE), { code: "unavailable" });
});

test("storage that the browser forbids is done without", async () => {
  const forbidden = { configurable: true, get: () => { throw new Error("forbidden"); } };
  Object.defineProperty(globalThis, "localStorage", forbidden);
  answer(() => Response.json({ url: "/sync", token: "t" }));
  assert.equal((await developmentServer(PAGE)).token, "t");
});

test("outside of a page it needs an address", async () => {
  await assert.rejects(developmentServer(), { code: "call", message: /127\.0\.0\.1/ });
});
