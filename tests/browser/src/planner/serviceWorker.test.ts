import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { repositoryPath } from "../repository.js";

const ORIGIN = "http://127.0.0.1:7777";

/** The service worker of one version of the page, and the network below it: what is at each path, or nothing while it is gone. */
async function installed(network: Map<string, string>): Promise<(path: string) => Promise<string>> {
  const template = await readFile(repositoryPath("examples/page/src/serviceWorker.js"), "utf8");
  const kept = new Map<string, Response>();
  const pathOf = (request: string | Request): string => new URL(typeof request === "string" ? request : request.url, ORIGIN).pathname;
  const fetched = (request: string | Request): Promise<Response> => {
    const body = network.get(pathOf(request));
    return body === undefined ? Promise.reject(new TypeError("no network")) : Promise.resolve(new Response(body));
  };
  const cache = {
    addAll: async (requests: Request[]) => {
      for (const request of requests) {
        kept.set(pathOf(request), await fetched(request));
      }
    },
    put: async (key: string | Request, response: Response) => void kept.set(pathOf(key), response),
    match: async (key: string | Request) => kept.get(pathOf(key))?.clone(),
  };
  const listeners = new Map<string, (event: object) => void>();
  const self = {
    location: { origin: ORIGIN },
    skipWaiting: () => undefined,
    addEventListener: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
  };
  const FetchedHere = function (path: string) {
    return new Request(new URL(path, ORIGIN));
  };
  const caches = { open: () => Promise.resolve(cache) };
  runInNewContext(template.replace('["__FILES__"]', '["/old.js"]'), { self, caches, fetch: fetched, Request: FetchedHere, URL });
  let installing: Promise<void> | undefined;
  listeners.get("install")?.({ waitUntil: (work: Promise<void>) => (installing = work) });
  await installing;
  return async (path) => {
    let answer: Promise<Response> = Promise.reject(new Error("it is not answered"));
    answer.catch(() => undefined);
    const request = { method: "GET", url: `${ORIGIN}${path}`, mode: path === "/" ? "navigate" : "cors" };
    listeners.get("fetch")?.({ request, respondWith: (work: Promise<Response>) => (answer = work) });
    return (await answer).text();
  };
}

test("offline the page is the one whose files are kept, also after a newer one was seen", async () => {
  const network = new Map([["/", "names old.js"], ["/old.js", "old"], ["/iolite.json", "first"]]);
  const answer = await installed(network);
  network.set("/", "names new.js").set("/iolite.json", "second").delete("/old.js");
  assert.deepEqual([await answer("/"), await answer("/iolite.json")], ["names new.js", "second"]);
  network.clear();
  assert.deepEqual([await answer("/"), await answer("/old.js")], ["names old.js", "old"]);
  assert.equal(await answer("/iolite.json"), "second", "the last answer");
});
