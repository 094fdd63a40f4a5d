/** How far the last change of each thing on the page got: only here, on this device's disk, confirmed by the server, or with everybody. */

import type { PendingMutation, SettledMutation } from "@iolite/client";
import { useClient, usePending } from "@iolite/react";
import { useEffect, useState } from "react";

export type Mark = "optimistic" | "durable" | "doubtful" | "undelivered" | "confirmed";
/** By the id of a piece or a message. What nobody here has just changed has no mark. */
export type Marks = ReadonlyMap<string, Mark>;

/** How long a change is marked as confirmed. */
const CONFIRMED_FOR_MS = 4000;

export function subjectOf(args: unknown): string | undefined {
  const { id } = (args ?? {}) as { id?: unknown };
  return typeof id === "string" ? id : undefined;
}

export function markOf({ status }: PendingMutation): Mark {
  if (status.wouldReject !== undefined) {
    return "doubtful";
  }
  return status.durable ? "durable" : "optimistic";
}

export function useMarks(): Marks {
  const pending = usePending();
  const marks = new Map<string, Mark>();
  for (const id of useJustConfirmed(pending)) {
    marks.set(id, "confirmed");
  }
  for (const mutation of pending) {
    const id = subjectOf(mutation.args);
    if (id !== undefined) {
      marks.set(id, weaker(marks.get(id), markOf(mutation)));
    }
  }
  return marks;
}

const STRENGTH: readonly Mark[] = ["doubtful", "optimistic", "durable", "undelivered", "confirmed"];

function weaker(a: Mark | undefined, b: Mark): Mark {
  return a !== undefined && STRENGTH.indexOf(a) < STRENGTH.indexOf(b) ? a : b;
}

/** The subjects of mutations that were pending and have been confirmed a moment ago. */
function useJustConfirmed(pending: readonly PendingMutation[]): ReadonlySet<string> {
  const client = useClient();
  const [confirmed, setConfirmed] = useState<ReadonlySet<string>>(new Set());
  const [subjects] = useState(() => new Map<string, string>());
  for (const { id, args } of pending) {
    const subject = subjectOf(args);
    if (subject !== undefined) {
      subjects.set(id, subject);
    }
  }
  useEffect(() => {
    const timers = new Map<string, number>();
    const forget = (subject: string): void => setConfirmed((set) => new Set([...set].filter((id) => id !== subject)));
    const stop = client.onMutationSettled(({ id, status }: SettledMutation) => {
      const subject = subjects.get(id);
      subjects.delete(id);
      if (subject !== undefined && status.state === "confirmed") {
        setConfirmed((set) => new Set(set).add(subject));
        clearTimeout(timers.get(subject));
        timers.set(subject, window.setTimeout(forget, CONFIRMED_FOR_MS, subject));
      }
    });
    return () => {
      stop();
      timers.forEach((timer) => clearTimeout(timer));
    };
  }, [client, subjects]);
  return confirmed;
}
