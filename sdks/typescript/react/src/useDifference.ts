/** The differences between two views, as for marks on what others may not see yet. */

import type { Difference, DifferenceOptions, KeyOf, View } from "@iolite/client";

import type { RegisteredSchema } from "./register.js";
import { type HeldResult, useHeld } from "./useHeld.js";

type Tables = RegisteredSchema["tables"];

/** The values that differ between two views, of all tables or of one, as `client.difference` says. Renders again when others do. */
export function useDifference<N extends string & keyof Tables>(
  a: View,
  b: View,
  options: DifferenceOptions<N> = {},
): HeldResult<readonly Difference<N, KeyOf<Tables[N]>>[]> {
  return useHeld((client) => client.difference<N>(a, b, options));
}
