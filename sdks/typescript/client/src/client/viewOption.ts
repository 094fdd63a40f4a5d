/** The option that says which view is read. */

import { optionsOf, plainMembersOf, wordOf } from "../arguments/checks.js";
import type { View } from "./types.js";

export const VIEWS: readonly View[] = ["optimistic", "durable", "confirmed", "delivered"];

/**
 * A view that is undefined counts as not given.
 *
 * @throws code `call`, for a view or an option that is not there.
 */
export function viewOf(options: unknown): View {
  const given = plainMembersOf(options, "call", "the options").filter(([, value]) => value !== undefined);
  const { view = "optimistic" } = optionsOf(Object.fromEntries(given), ["view"], "call", "the options");
  return wordOf(view, VIEWS, "call", "view");
}
