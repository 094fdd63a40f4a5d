/**
 * Ids of messages: the time they were written, then chance, so that the order of the ids is the order of writing (as in ULIDs).
 * A device whose clock is wrong puts its messages in the wrong place, and harms nothing else.
 */

import { newId } from "@iolite/client";

export function messageId(now: number): string {
  return now.toString(36).padStart(9, "0") + newId().slice(0, 12);
}
