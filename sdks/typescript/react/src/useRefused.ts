/** The mutations that ended without effect and were not dismissed yet, oldest first. */

import type { RefusedMutation } from "@iolite/client";

import { useWatched, type Watchable } from "./useWatched.js";

const REFUSED: Watchable<readonly RefusedMutation[]> = {
  look: (client) => client.refused,
  watch: (client, changed) => client.onRefusedChange(changed),
  onServer: Object.freeze([]),
};

/** On a server, and at the first render of a page that takes its HTML over, there are none. */
export function useRefused(): readonly RefusedMutation[] {
  return useWatched(REFUSED);
}
