/** The switch that cuts this tab's network, which stays as it is over a reload. */

import type { Client } from "@iolite/client";

type Switchable = Pick<Client, "goOffline" | "goOnline">;

const KEY = "room-planner.cut";

export function cutNetwork(client: Switchable, cut: boolean): void {
  sessionStorage.setItem(KEY, String(cut));
  if (cut) {
    client.goOffline();
  } else {
    client.goOnline();
  }
}

/** Right after the client was opened, before it is connected. */
export function stayCut(client: Switchable): void {
  if (sessionStorage.getItem(KEY) === "true") {
    client.goOffline();
  }
}
