/** The mutations that have not ended, oldest first. */

import type { PendingMutation } from "@iolite/client";
import { useCallback, useSyncExternalStore } from "react";

import { useClient } from "./provider.js";

export function usePending(): readonly PendingMutation[] {
  const client = useClient();
  const subscribe = useCallback((changed: () => void) => client.onPendingChange(changed), [client]);
  const current = (): readonly PendingMutation[] => client.pending;
  return useSyncExternalStore(subscribe, current, current);
}
