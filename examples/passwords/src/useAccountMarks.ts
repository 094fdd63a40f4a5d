/** How far the last change of each account has got, in both ways. */

import type { Id } from "@iolite/client";
import { type Mark, useMarks } from "examples-page";

export function useAccountMarks(): (id: Id) => Mark {
  // A decided conflict is a call without arguments.
  return useMarks((args) => (args as { readonly id?: Id } | null | undefined)?.id);
}
