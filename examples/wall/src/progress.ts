/**
 * How far one's own changes have got. A causal call has taken effect on the device already: nothing can end it otherwise any more. A device that has restarted says
 * "sent" of what it may have sent.
 */

import type { PendingMutation, PendingStatus } from "@iolite/client";
import { usePending } from "@iolite/react";

/** `stored`: one of several data centres has it. It is confirmed once a second one does. */
export type Progress = "here" | "sent" | "stored" | "confirmed";

/** Names for the things that change. */
export const subjects = {
  visits: (id: string) => `the visits of ${id}`,
  status: (id: string) => `the status of ${id}`,
  friends: (one: string, other: string) => `the friends ${[one, other].sort().join(" and ")}`,
  post: (id: string) => `the post ${id}`,
  event: (id: string) => `the event ${id}`,
};

interface Arguments {
  readonly id: string;
  readonly me: string;
  readonly other: string;
}

/** The answer says how far the last change of a subject is. */
export function useProgress(): (subject: string) => Progress {
  const open = new Map(usePending().map((call) => [subjectOf(call), progressOf(call.status)] as const));
  return (subject) => open.get(subject) ?? "confirmed";
}

function progressOf({ sent, centres = 0 }: PendingStatus): Progress {
  if (centres > 0) {
    return "stored";
  }
  return sent ? "sent" : "here";
}

function subjectOf({ name, args }: PendingMutation): string | undefined {
  const { id, me, other } = args as Arguments;
  switch (name) {
    case "visit":
      return subjects.visits(id);
    case "say":
      return subjects.status(id);
    case "ask":
    case "withdraw":
    case "accept":
    case "unfriend":
      return subjects.friends(me, other);
    case "write":
      return subjects.post(id);
    case "plan":
    case "attend":
      return subjects.event(id);
    default:
      return undefined;
  }
}
