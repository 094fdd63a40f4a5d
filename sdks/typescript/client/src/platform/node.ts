/** Node: for scripts and tests. Data is kept in memory. */

import { readFile } from "node:fs/promises";

import { nodeWebSocket } from "../link/nodeWebSocket.js";
import { openWebSocketLink, type WebSocketClass } from "../link/webSocketLink.js";
import { initSync } from "../wasm/iolite_wasm.js";
import type { Platform } from "./platform.js";

let loaded: Promise<WebSocketClass> | undefined;
let implementation: WebSocketClass | undefined;

export const platform: Platform = {
  loadCore: async () => {
    loaded ??= load();
    implementation = await loaded;
  },
  openLink: (url, events) => {
    if (implementation === undefined) {
      throw new Error("the core is loaded before a link is opened");
    }
    return openWebSocketLink(implementation, url, events);
  },
  indexedDB: globalThis.indexedDB,
  locks: globalThis.navigator?.locks,
  openChannel: undefined,
  askForPersistence: () => Promise.resolve(false),
  onDevice: () => () => undefined,
  soon: (callback) => void setImmediate(callback),
  frame: undefined,
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};

async function load(): Promise<WebSocketClass> {
  const module = await readFile(new URL("../wasm/iolite_wasm_bg.wasm", import.meta.url));
  initSync({ module });
  return nodeWebSocket();
}
