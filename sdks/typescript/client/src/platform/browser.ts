/** A page. */

import { IoliteError } from "../errors.js";
import { openWebSocketLink } from "../link/webSocketLink.js";
import loadModule from "../wasm/iolite_wasm.js";
import { nextFrame } from "./nextFrame.js";
import type { Channel, DeviceEvents, Platform } from "./platform.js";

const NOT_LOADED =
  "iolite_wasm_bg.wasm could not be loaded from beside the script that asks for it " +
  '(in development with Vite before version 8, its settings need optimizeDeps: { exclude: ["@iolite/client"] })';

let loaded: Promise<unknown> | undefined;
/** Made when it is first used, so that this module can be imported where there are no channels. */
let soon: Platform["soon"] | undefined;

export const platform: Platform = {
  loadCore: async () => {
    loaded ??= loadModule();
    try {
      await loaded;
    } catch (error) {
      // It may be there the next time.
      loaded = undefined;
      const why = error instanceof Error ? error.message : String(error);
      throw new IoliteError("failed", `${NOT_LOADED}: ${why}`, { cause: error });
    }
  },
  openLink: (url, events) => openWebSocketLink(WebSocket, url, events),
  indexedDB: globalThis.indexedDB,
  locks: globalThis.navigator?.locks,
  openChannel: globalThis.BroadcastChannel === undefined ? undefined : openChannel,
  askForPersistence: async () => (await navigator.storage?.persist?.()) ?? false,
  onDevice: listen,
  soon: inTask,
  frame: (callback) => nextFrame(callback, inTask),
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};

function inTask(callback: () => void): void {
  (soon ??= taskQueue())(callback);
}

function listen({ awake, left, networkLost }: DeviceEvents): () => void {
  const seen = (): void => {
    if (document.visibilityState === "visible") {
      awake();
    }
  };
  window.addEventListener("online", awake);
  window.addEventListener("offline", networkLost);
  window.addEventListener("pageshow", awake);
  window.addEventListener("pagehide", left);
  document.addEventListener("visibilitychange", seen);
  return () => {
    window.removeEventListener("online", awake);
    window.removeEventListener("offline", networkLost);
    window.removeEventListener("pageshow", awake);
    window.removeEventListener("pagehide", left);
    document.removeEventListener("visibilitychange", seen);
  };
}

function openChannel(name: string, received: (message: unknown) => void): Channel {
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => received(data);
  return { post: (message) => channel.postMessage(message), close: () => channel.close() };
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
