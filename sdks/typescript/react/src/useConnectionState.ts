/** How the client stands to its server. */

import type { ConnectionState } from "@iolite/client";
import { useCallback, useSyncExternalStore } from "react";

import { useClient } from "./provider.js";

export function useConnectionState(): ConnectionState {
  const client = useClient();
  const subscribe = useCallback((changed: () => void) => client.onConnectionChange(changed), [client]);
  const current = (): ConnectionState => client.connection;
  return useSyncExternalStore(subscribe, current, current);
}
