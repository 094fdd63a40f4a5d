/** Node: for scripts and tests. Data is kept in memory. */

import { readFile } from "node:fs/promises";

import { initSync } from "../wasm/iolite_wasm.js";
import type { Platform } from "./platform.js";
import { openWebSocketLink, type WebSocketClass } from "./webSocketLink.js";

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
  return globalThis.WebSocket ?? (await webSocketPackage());
}

/** Before version 22 Node has no WebSocket of its own. */
async function webSocketPackage(): Promise<WebSocketClass> {
  try {
    return (await import("ws")).WebSocket as unknown as WebSocketClass;
  } catch (cause) {
    throw new Error("this version of Node has no WebSocket: install the package ws", { cause });
  }
}
