/**
 * A binding while there is no client, as on a server: its value is not known.
 *
 * Invariant: a write throws; none is lost without a word.
 */

import type { Live, Reactive } from "@iolite/client";

import { noClient } from "./provider.js";

const LOADING: Reactive<never> = Object.freeze({ status: "loading", data: undefined, error: undefined });

/** Binds what `bind` chooses of tables that nobody has. */
export function liveOfNothing<L extends Live<unknown>>(bind: (tables: never) => L): L {
  let binds = true;
  const members: Record<string, unknown> = { value: undefined, written: undefined, state: LOADING, onChange: () => () => undefined };
  // Tables, rows, columns and ranges are all the same: what is called or taken of one is another.
  const nothing: unknown = new Proxy(() => undefined, {
    get: (_, name) => (typeof name === "string" && !Object.hasOwn(members, name) ? nothing : members[name as string]),
    apply: () => {
      if (!binds) {
        throw noClient();
      }
      return nothing;
    },
  });
  const bound = bind(nothing as never);
  binds = false;
  return bound;
}
