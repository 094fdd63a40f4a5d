/** The WebSocket of Node, for `openWebSocketLink`. `@iolite/objects` imports it as `@iolite/client/link/node`. */

import type { WebSocketClass } from "./webSocketLink.js";

/** Before version 22 Node has no WebSocket of its own. */
export async function nodeWebSocket(): Promise<WebSocketClass> {
  return globalThis.WebSocket ?? (await webSocketPackage());
}

async function webSocketPackage(): Promise<WebSocketClass> {
  try {
    return (await import("ws")).WebSocket as unknown as WebSocketClass;
  } catch (cause) {
    throw new Error("this version of Node has no WebSocket: install the package ws", { cause });
  }
}
