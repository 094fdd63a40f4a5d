/** The mutations that have not ended, oldest first. */

import type { PendingMutation } from "@iolite/client";

import { useWatched, type Watchable } from "./useWatched.js";

const PENDING: Watchable<readonly PendingMutation[]> = {
  look: (client) => client.pending,
  watch: (client, changed) => client.onPendingChange(changed),
  onServer: Object.freeze([]),
};

/** On a server, and at the first render of a page that takes its HTML over, there are none. */
export function usePending(): readonly PendingMutation[] {
  return useWatched(PENDING);
}
