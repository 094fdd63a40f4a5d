/** What a component goes on to show while the data that it has asked for instead is on its way. */

import { useEffect, useMemo, useRef } from "react";

import type { ReactiveResult } from "./useReactive.js";

export interface KeepOptions {
  /**
   * When `deps` change, go on with the data of those before until the new data is here: `isKept` says so meanwhile. For more of the
   * same, as when a list grows by a page; not where what is shown would be taken for something else, as another person's. Of another client or view nothing
   * is kept.
   */
  readonly keepData?: boolean | undefined;
}

interface Kept<T> {
  readonly of: readonly unknown[];
  readonly data: T | undefined;
}

/** The result, with the data of the one before it while it has none yet. Only for the same `of`, client and view, is anything kept. */
export function useKept<T>(result: ReactiveResult<T>, of: readonly unknown[], { keepData = false }: KeepOptions): ReactiveResult<T> {
  const last = useRef<Kept<T>>(undefined);
  const waits = result.data === undefined && (result.isLoading || result.isUnavailable);
  // Also while nothing is to be kept: what was shown last is what counts when it is.
  useEffect(() => {
    if (!waits) {
      last.current = { of, data: result.data };
    }
  }, [result, waits, ...of]);
  return useMemo(() => {
    const kept = last.current;
    return keepData && waits && kept?.of.every((own, place) => own === of[place]) ? { ...result, data: kept.data, isKept: true } : result;
  }, [result, keepData, waits, ...of]);
}
