/** A page. */

import { openWebSocketLink } from "@iolite/client/link";

import { VariableScope } from "../runs.js";
import loadModule from "../wasm/iolite_wasm_objects.js";
import type { Platform } from "./platform.js";

let loaded: Promise<unknown> | undefined;

export const platform: Platform = {
  isPage: true,
  load: async () => {
    loaded ??= loadModule();
    try {
      await loaded;
    } catch (cause) {
      // It may be there the next time.
      loaded = undefined;
      throw new Error("iolite_wasm_objects_bg.wasm could not be loaded from beside the script that asks for it", { cause });
    }
  },
  openLink: (url, events) => openWebSocketLink(WebSocket, url, events),
  scope: new VariableScope(),
  get shelves() {
    const { indexedDB, navigator, sessionStorage } = globalThis;
    // Without https there are no locks.
    return indexedDB === undefined || navigator?.locks === undefined ? undefined : { indexedDB, locks: navigator.locks, tab: sessionStorage };
  },
};
