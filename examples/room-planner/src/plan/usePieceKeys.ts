/** What the keys do to the piece that has the focus. */

import type { KeyboardEvent } from "react";

import type { Piece } from "../schema";
import { GRID, settle, type Size } from "./geometry";
import type { PieceActions } from "./usePieceActions";

const STEPS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function usePieceKeys(room: Size, actions: PieceActions, onLeave: () => void) {
  return (event: KeyboardEvent, piece: Piece): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const step = STEPS[event.key];
    if (step) {
      const by = event.shiftKey ? 5 * GRID : GRID;
      actions.move(piece, settle(piece, { x: piece.x + step[0] * by, y: piece.y + step[1] * by }, room));
    } else if (event.key === "r" || event.key === "R") {
      actions.turn(piece);
    } else if (event.key === "d" || event.key === "D") {
      actions.duplicate(piece);
    } else if (event.key === "l" || event.key === "L") {
      actions.lock(piece, !piece.locked);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      actions.remove(piece);
    } else if (event.key === "Escape") {
      onLeave();
    } else {
      return;
    }
    event.preventDefault();
  };
}
