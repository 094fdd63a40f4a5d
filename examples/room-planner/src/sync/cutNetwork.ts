/** The switch that cuts the network of all tabs of this page, which stays as it is over a reload. */

import type { Client } from "@iolite/client";

type Switchable = Pick<Client, "goOffline" | "goOnline">;

const KEY = "room-planner.cut";

export function cutNetwork(client: Switchable, cut: boolean): void {
  if (cut) {
    client.goOffline();
  } else {
    client.goOnline();
  }
}

/** Whether the client begins offline. */
export function wasCut(): boolean {
  return sessionStorage.getItem(KEY) === "true";
}

/** Any tab may turn the switch, and each one remembers it. */
export function rememberCut(client: Pick<Client, "onConnectionChange">): void {
  client.onConnectionChange(({ paused }) => sessionStorage.setItem(KEY, String(paused)));
}
