/** How the client stands to its server. */

import type { ConnectionState } from "@iolite/client";

import { useWatched, type Watchable } from "./useWatched.js";

const CONNECTION: Watchable<ConnectionState> = {
  look: (client) => client.connection,
  watch: (client, changed) => client.onConnectionChange(changed),
  onServer: Object.freeze({
    status: "offline",
    role: "leader",
    storage: "indexeddb",
    persistent: false,
    message: undefined,
    refusal: undefined,
    paused: false,
  }),
};

/** On a server, and at the first render of a page that takes its HTML over, this is offline. */
export function useConnectionState(): ConnectionState {
  return useWatched(CONNECTION);
}
