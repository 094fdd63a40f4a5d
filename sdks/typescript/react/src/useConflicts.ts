/** The conflicts of a causal table, which a person decides. */

import type { Conflicts, ConflictsOf, OpenConflict, RowConflict } from "@iolite/client";
import { useCallback, useMemo } from "react";

import { useClientIfAny } from "./provider.js";
import type { RegisteredClient, RegisteredSchema } from "./register.js";
import { useWatched, type Watchable } from "./useWatched.js";

type CausalTables = ConflictsOf<RegisteredSchema>;
type TableOf<C> = C extends Conflicts<infer T> ? T : never;

export interface ConflictsResult<T> {
  /** All conflicts of the table, in the order of keys. */
  readonly rows: readonly RowConflict<T>[];
  /** Decides conflicts of these rows, as `client.conflicts.<table>.resolve` does: as they were rendered, so that nothing is decided that the person did not see. */
  resolve(decide: (rows: readonly OpenConflict<T>[]) => void): Promise<void>;
}

const NONE: readonly never[] = Object.freeze([]);

/** The conflicts of a causal table. Renders again when they are others. On a server there are none. */
export function useConflicts<N extends keyof CausalTables & string>(table: N): ConflictsResult<TableOf<CausalTables[N]>> {
  type T = TableOf<CausalTables[N]>;
  const of = useCallback((client: RegisteredClient) => (client.conflicts as unknown as Record<string, Conflicts<T>>)[table] as Conflicts<T>, [table]);
  const watchable = useMemo<Watchable<readonly RowConflict<T>[]>>(
    () => ({ look: (client) => of(client).list, watch: (client, changed) => of(client).watch(changed), onServer: NONE }),
    [of],
  );
  const client = useClientIfAny();
  const rows = useWatched(watchable);
  const resolve = useCallback(
    (decide: (rows: readonly OpenConflict<T>[]) => void) => (client === undefined ? Promise.resolve() : of(client).resolve(decide, rows)),
    [client, of, rows],
  );
  return { rows, resolve };
}
