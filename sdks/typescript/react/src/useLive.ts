/** A shared variable as a component's data. */

import type { Live, LiveTables } from "@iolite/client";
import { type DependencyList, useMemo, useSyncExternalStore } from "react";

import { useClientIfAny } from "./provider.js";
import { ReactiveStore } from "./reactiveStore.js";
import type { RegisteredClient, RegisteredSchema } from "./register.js";
import { liveOfNothing } from "./liveOfNothing.js";
import { type KeepOptions, useKept } from "./useKept.js";
import type { ReactiveResult } from "./useReactive.js";

export interface LiveResult<L, T> extends ReactiveResult<T> {
  /** The binding: what it is written with. */
  readonly live: L;
}

/**
 * Binds what `bind` chooses, again when one of `deps` changes: `useLive((live) => live.notes(id).title, [id])`. Its `live` stays the same object
 * until then.
 */
export function useLive<T, L extends Live<T>>(
  bind: (live: LiveTables<RegisteredSchema>) => L & Live<T>,
  deps: DependencyList,
  options: KeepOptions = {},
): LiveResult<L, T> {
  const client: RegisteredClient | undefined = useClientIfAny();
  const [live, store] = useMemo(() => {
    if (client === undefined) {
      return [liveOfNothing(bind), new ReactiveStore<T>(undefined)] as const;
    }
    const bound = bind(client.live as LiveTables<RegisteredSchema>);
    return [bound, new ReactiveStore<T>(() => observationOf(bound))] as const;
    // The function itself is another one at every render.
  }, [client, ...deps]);
  const result = useKept(useSyncExternalStore(store.subscribe, store.current, store.onServer), [client], options);
  return useMemo(() => ({ ...result, live }), [result, live]);
}

/** A binding ends by itself when nobody listens. */
function observationOf<T>(live: Live<T>) {
  return {
    get state() {
      return live.state;
    },
    onChange: (callback: Parameters<Live<T>["onChange"]>[0]) => live.onChange(callback),
    stop: () => undefined,
  };
}
