/** Keeps over a reload whether the switch has cut the network of this page. */

import type { Client } from "@iolite/client";

const KEY = "room-planner.cut";

/** Whether the client begins offline. */
export function wasCut(): boolean {
  return sessionStorage.getItem(KEY) === "true";
}

/** Any tab may turn the switch, and each one remembers it. */
export function rememberCut(client: Pick<Client, "onConnectionChange">): void {
  client.onConnectionChange(({ paused }) => sessionStorage.setItem(KEY, String(paused)));
}
