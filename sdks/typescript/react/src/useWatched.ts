/**
 * A state of the client itself, as a component's data.
 *
 * Invariant: on a server, and while a page takes over a server's HTML, it is what every server renders, whatever client is there: the two may differ.
 */

import type { Stop } from "@iolite/client";
import { useCallback, useSyncExternalStore } from "react";

import { useClientIfAny } from "./provider.js";
import type { RegisteredClient } from "./register.js";

export interface Watchable<T> {
  look(client: RegisteredClient): T;
  watch(client: RegisteredClient, changed: () => void): Stop;
  /** The state without a client, and on every server. */
  readonly onServer: T;
}

/** `watchable` is the same object at every render. */
export function useWatched<T>({ look, watch, onServer }: Watchable<T>): T {
  const client = useClientIfAny();
  const subscribe = useCallback((changed: () => void) => (client === undefined ? unwatched : watch(client, changed)), [client, watch]);
  const current = (): T => (client === undefined ? onServer : look(client));
  return useSyncExternalStore(subscribe, current, () => onServer);
}

function unwatched(): void {}
