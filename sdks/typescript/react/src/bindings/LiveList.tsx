/** A list that follows a shared one: all of it, a range, or the rows that it names. */

import type { Live, LiveTables } from "@iolite/client";
import { type DependencyList, Fragment, type ReactNode } from "react";

import type { RegisteredSchema } from "../register.js";
import type { KeepOptions } from "../useKept.js";
import { useLive } from "../useLive.js";

export interface LiveListProps<T> extends KeepOptions {
  /** Which list: `(live) => live.timelines(user).slice(-20)`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => Live<readonly T[]>;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  readonly children: (element: T, index: number) => ReactNode;
  /** From its end to its beginning. */
  readonly newestFirst?: boolean;
  /** What tells elements apart; their places, if not given. */
  readonly keyOf?: (element: T, index: number) => string | number;
  /** While the data is on its way; behind what is kept. */
  readonly loading?: ReactNode;
  /** When there is nothing in it. */
  readonly empty?: ReactNode;
}

export function LiveList<T>(props: LiveListProps<T>) {
  const { bind, deps = [], children, newestFirst = false, keyOf, keepData, loading, empty } = props;
  const { data, isKept = false } = useLive<readonly T[], Live<readonly T[]>>(bind, deps, { keepData });
  if (data === undefined) {
    return loading;
  }
  if (data.length === 0 && !isKept) {
    return empty;
  }
  const shown = data.map((element, index) => (
    <Fragment key={keyOf?.(element, index) ?? index}>{children(element, index)}</Fragment>
  ));
  return (
    <>
      {newestFirst ? shown.reverse() : shown}
      {isKept && loading}
    </>
  );
}
