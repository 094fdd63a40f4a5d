/** How far one's own changes got: only here, on this device's disk, or confirmed by the server. */

import type { PendingMutation } from "@iolite/client";
import { usePending } from "@iolite/react";

export type Mark = "here" | "kept" | "sent";

export const MARK_WORDS: Record<Mark, string> = { here: "only here", kept: "waits on this device", sent: "" };

/** `subjectOf` says what a mutation is about; the answer, how far the last change of a subject is. */
export function useMarks<T>(subjectOf: (args: unknown, mutation: PendingMutation) => T | undefined): (subject: T) => Mark {
  const marks = new Map(usePending().map((each) => [subjectOf(each.args, each), each.status.durable ? "kept" : "here"] as const));
  return (subject) => marks.get(subject) ?? "sent";
}
