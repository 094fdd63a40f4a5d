/** The mutations that ended without effect and were not dismissed yet, oldest first. */

import type { RefusedMutation } from "@iolite/client";
import { useCallback, useSyncExternalStore } from "react";

import { useClient } from "./provider.js";

export function useRefused(): readonly RefusedMutation[] {
  const client = useClient();
  const subscribe = useCallback((changed: () => void) => client.onRefusedChange(changed), [client]);
  const current = (): readonly RefusedMutation[] => client.refused;
  return useSyncExternalStore(subscribe, current, current);
}
