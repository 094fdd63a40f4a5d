/** A page. */

import loadModule from "../wasm/iolite_wasm.js";
import type { DeviceEvents, Platform } from "./platform.js";
import { openWebSocketLink } from "./webSocketLink.js";

let loaded: Promise<unknown> | undefined;

export const platform: Platform = {
  loadCore: async () => {
    loaded ??= loadModule();
    await loaded;
  },
  openLink: (url, events) => openWebSocketLink(WebSocket, url, events),
  indexedDB: globalThis.indexedDB,
  locks: globalThis.navigator?.locks,
  askForPersistence: async () => (await navigator.storage?.persist?.()) ?? false,
  onDevice: listen,
  soon: taskQueue(),
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};

function listen({ awake, networkLost }: DeviceEvents): () => void {
  const seen = (): void => {
    if (document.visibilityState === "visible") {
      awake();
    }
  };
  window.addEventListener("online", awake);
  window.addEventListener("offline", networkLost);
  window.addEventListener("pageshow", awake);
  document.addEventListener("visibilitychange", seen);
  return () => {
    window.removeEventListener("online", awake);
    window.removeEventListener("offline", networkLost);
    window.removeEventListener("pageshow", awake);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** Tasks by messages: they come after what has arrived, and unlike timers are not held back in hidden pages. */
function taskQueue(): (callback: () => void) => void {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (callback) => {
    waiting.push(callback);
    port2.postMessage(undefined);
  };
}
