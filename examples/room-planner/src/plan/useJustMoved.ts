/**
 * Pieces where this tab has just put them. In the tab that leads that is what the client shows anyway; in another one a move shows some
 * milliseconds after it was made, and the piece must not jump back meanwhile, nor the next step begin at the old place.
 */

import { useEffect, useState } from "react";

import type { Piece } from "../schema";
import type { Point } from "./geometry";

/** A move that is not shown by then was refused, or somebody else moved the piece. */
const PATIENCE_MS = 1000;

export interface JustMoved {
  readonly pieces: readonly Piece[];
  note(id: string, to: Point): void;
}

export function useJustMoved(pieces: readonly Piece[]): JustMoved {
  const [moves, setMoves] = useState<ReadonlyMap<string, Point>>(new Map());
  useEffect(() => {
    const isShown = ({ id, x, y }: Piece): boolean => moves.get(id)?.x === x && moves.get(id)?.y === y;
    const shown = new Set(pieces.filter(isShown).map(({ id }) => id));
    if (shown.size > 0) {
      setMoves(new Map([...moves].filter(([id]) => !shown.has(id))));
    }
  }, [pieces, moves]);

  function note(id: string, to: Point): void {
    setMoves((all) => new Map(all).set(id, to));
    setTimeout(() => {
      setMoves((all) => (all.get(id) === to ? new Map([...all].filter(([other]) => other !== id)) : all));
    }, PATIENCE_MS);
  }
  return { pieces: pieces.map((piece) => ({ ...piece, ...moves.get(piece.id) })), note };
}
