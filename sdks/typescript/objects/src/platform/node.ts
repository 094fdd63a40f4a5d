/** Node, as part of the service or as a device. */

import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";

import { openWebSocketLink, type WebSocketClass } from "@iolite/client/link";
import { nodeWebSocket } from "@iolite/client/link/node";

import type { Run } from "../runs.js";
import { initSync } from "../wasm/iolite_wasm_objects.js";
import type { Platform } from "./platform.js";

let loaded: Promise<WebSocketClass> | undefined;
let implementation: WebSocketClass | undefined;
const runs = new AsyncLocalStorage<Run>();

export const platform: Platform = {
  isPage: false,
  load: async () => {
    loaded ??= loadOnce();
    implementation = await loaded;
  },
  openLink: (url, events) => {
    if (implementation === undefined) {
      throw new Error("the module is loaded before a link is opened");
    }
    return openWebSocketLink(implementation, url, events);
  },
  shelves: undefined,
  scope: { followsAwaits: true, within: (run, act) => runs.run(run, act), current: () => runs.getStore() },
};

async function loadOnce(): Promise<WebSocketClass> {
  const module = await readFile(new URL("../wasm/iolite_wasm_objects_bg.wasm", import.meta.url));
  initSync({ module });
  return nodeWebSocket();
}
