/** The pieces that others may not see yet as this page shows them, and how they see these. */

import { useDifference, useView } from "@iolite/react";

import type { Piece } from "../schema";
import type { Marks } from "./marks";

export interface Undelivered {
  /** The pieces that others may see differently. */
  readonly ids: ReadonlySet<string>;
  /** The room as everybody sees it, or saw it last. */
  readonly seen: readonly Piece[];
}

/**
 * The room in the view `delivered`. In a tab that follows another one, and after a reload until the server has been heard, nobody knows that view: then in the
 * one that the server has confirmed.
 */
export function useUndelivered(room: string): Undelivered {
  const delivered = useDifference("optimistic", "delivered", { table: "furniture" });
  const confirmed = useDifference("optimistic", "confirmed", { table: "furniture" });
  const { data: differing = [] } = delivered.isHeld ? delivered : confirmed;
  const view = delivered.isHeld ? "delivered" : "confirmed";
  const { data: seen = [] } = useView((tx) => tx.furniture.range({ prefix: [room] }), { view });
  return { ids: new Set(differing.filter(({ key }) => key[0] === room).map(({ key }) => key[1])), seen };
}

/** The marks, where a piece that is confirmed and not with everybody yet has one too. */
export function markUndelivered(marks: Marks, { ids }: Undelivered): Marks {
  const all = new Map(marks);
  for (const id of ids) {
    if ((all.get(id) ?? "confirmed") === "confirmed") {
      all.set(id, "undelivered");
    }
  }
  return all;
}
