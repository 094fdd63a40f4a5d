/**
 * Ids for rows that somebody makes, also without a network. A row can be made only where it is known that none is there, so an app watches the place where
 * its next ones will come: each id begins with who makes it, and goes on with the time, so that place is what follows the newest of one's own.
 */

import { newId } from "@iolite/client";

export function ownId(maker: string): string {
  return `${maker}/${Date.now().toString(36).padStart(9, "0")}${newId().slice(0, 12)}`;
}

/** The newest row that somebody made, and all that follow: for `tx.lines.range(ownNewest(me))`. */
export function ownNewest(maker: string) {
  // "0" is the character that follows "/".
  return { from: [`${maker}/`], to: [`${maker}0`], reverse: true, limit: 1 } as const;
}
