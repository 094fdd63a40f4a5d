/** A view of the data that this device holds, read while a component renders. */

import type { ReactOptions, ReadTransaction } from "@iolite/client";

import type { RegisteredSchema } from "./register.js";
import { type HeldResult, useHeld } from "./useHeld.js";

/**
 * Runs `closure` while the component renders, on what this device holds of a view, and renders again when the answer is another. It never waits and asks for
 * nothing: something else keeps the data on the device, as `useReactive` does. What the closure uses from outside may change at every render.
 */
export function useView<T>(closure: (tx: ReadTransaction<RegisteredSchema>) => T, options: ReactOptions = {}): HeldResult<T> {
  return useHeld((client) => client.peek(closure, options));
}
