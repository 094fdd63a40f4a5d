/** What a component goes on to show while the data that it has asked for instead is on its way. */

import { useMemo, useState } from "react";

import type { ReactiveResult } from "./useReactive.js";

export interface KeepOptions {
  /**
   * When `deps` change, go on with the data of those before until the new data is here: `isLoading` or `isUnavailable` says so meanwhile. For more of the
   * same, as when a list grows by a page; not where what is shown would be taken for something else, as another person's.
   */
  readonly keepData?: boolean | undefined;
}

/** The result, with the data of the one before it while it has none yet. */
export function useKept<T>(result: ReactiveResult<T>, { keepData = false }: KeepOptions): ReactiveResult<T> {
  const [last, setLast] = useState<ReactiveResult<T>>();
  const waits = result.data === undefined && (result.isLoading || result.isUnavailable);
  if (keepData && !waits && result !== last) {
    setLast(result);
  }
  const kept = keepData && waits ? last : undefined;
  return useMemo(() => (kept === undefined ? result : { ...result, data: kept.data }), [result, kept]);
}
