/**
 * Shows others where a piece is while it is dragged. At most ten times a second, only while there is a connection, and never
 * before the last preview has taken effect: on a slow link the queue does not grow, there are just fewer steps.
 */

import type { MutationHandle } from "@iolite/client";
import { useClient } from "@iolite/react";
import { useRef } from "react";

import type { Piece } from "../schema";
import type { Point } from "./geometry";

const INTERVAL_MS = 100;

export function usePreview(room: string) {
  const client = useClient();
  const last = useRef<{ at: number; sent: MutationHandle } | null>(null);
  return {
    show(piece: Piece, to: Point): void {
      const before = last.current;
      const isDue = before === null || performance.now() - before.at >= INTERVAL_MS;
      const isFree = before === null || before.sent.status.state !== "pending";
      if (isDue && isFree && client.connection.status === "online") {
        const sent = client.mutate.movePiece({ room, id: piece.id, x: to.x, y: to.y });
        last.current = { at: performance.now(), sent };
      }
    },
    end(): void {
      last.current = null;
    },
  };
}
