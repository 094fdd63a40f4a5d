/** A reactive transaction as a component's data. */

import type { ReactOptions, ReadTransaction } from "@iolite/client";
import { type DependencyList, useMemo, useSyncExternalStore } from "react";

import { ReactiveStore } from "./reactiveStore.js";
import { useClientIfAny } from "./provider.js";
import type { RegisteredClient, RegisteredSchema } from "./register.js";
import { type KeepOptions, useKept } from "./useKept.js";

export interface ReactiveResult<T> {
  /** What the closure returned last; undefined before its first whole run with these `deps`, unless it is kept. The same object until it runs again. */
  readonly data: T | undefined;
  /** `data` is that of the `deps` before, by `keepData`. */
  readonly isKept?: boolean;
  /** Data is on its way. */
  readonly isLoading: boolean;
  /** Data is not on this device, and there is no connection. It comes by itself once there is one. */
  readonly isUnavailable: boolean;
  /** What the closure threw. */
  readonly error: Error | undefined;
}

/**
 * Runs `closure` now, and again whenever what it read or one of `deps` has changed. Everything that one run returns is of one snapshot.
 * Values that the closure uses from outside have to be in `deps`.
 */
export function useReactive<T>(
  closure: (tx: ReadTransaction<RegisteredSchema>) => T,
  deps: DependencyList,
  options: ReactOptions & KeepOptions = {},
): ReactiveResult<T> {
  const client: RegisteredClient | undefined = useClientIfAny();
  const view = options.view ?? "optimistic";
  // The closure itself is another function at every render: `deps` say when it means something else.
  const store = useMemo(
    () => new ReactiveStore<T>(client === undefined ? undefined : () => client.observe(closure, { view })),
    [client, view, ...deps],
  );
  return useKept(useSyncExternalStore(store.subscribe, store.current, store.onServer), [client, view], options);
}
