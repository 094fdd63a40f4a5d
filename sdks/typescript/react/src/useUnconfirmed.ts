/** Whether a component shows something that the server has not confirmed. */

import { areEqual, type ReadTransaction } from "@iolite/client";
import type { DependencyList } from "react";

import type { RegisteredSchema } from "./register.js";
import { useReactive } from "./useReactive.js";

/**
 * Whether what `closure` reads is another thing with pending mutations than without them, as for a mark beside a row that is not saved yet. False while it has
 * nothing to show, and for a write that changes nothing. Values that the closure uses from outside have to be in `deps`.
 */
export function useUnconfirmed<T>(closure: (tx: ReadTransaction<RegisteredSchema>) => T, deps: DependencyList): boolean {
  const { data, isLoading, isUnavailable, error } = useReactive(closure, deps, { view: "optimistic" });
  const confirmed = useReactive(closure, deps, { view: "confirmed" });
  const isShown = data !== undefined || !(isLoading || isUnavailable || error);
  return isShown && !areEqual(data, confirmed.data);
}
