/** What the page does to furniture, with the way back for the last of it. */

import { newId } from "@iolite/client";
import { useClient } from "@iolite/react";

import type { Piece, Room } from "../schema";
import { kindOf, type Colour, type KindName } from "./catalogue";
import { footprint, freeSpot, GRID, settle, type Point } from "./geometry";
import { usePreview } from "./usePreview";
import { useUndo } from "./useUndo";

export type PieceActions = ReturnType<typeof usePieceActions>;

export function usePieceActions(
  room: Room,
  pieces: readonly Piece[],
  onSelect: (id: string | null) => void,
  onMove: (id: string, to: Point) => void,
) {
  const { mutate } = useClient();
  const undo = useUndo();
  const preview = usePreview(room.id);

  function add(piece: Piece): void {
    mutate.addPiece(piece);
    undo.remember(() => mutate.removePiece(nameOf(piece)));
    onSelect(piece.id);
  }
  return {
    canUndo: undo.canUndo,
    undo: undo.undo,
    preview: preview.show,
    add(kind: KindName): void {
      const { label, colour } = kindOf(kind);
      const spot = freeSpot(kind, pieces, room);
      add({ room: room.id, id: newId(), kind, name: label, colour, turn: 0, locked: false, ...spot });
    },
    duplicate(piece: Piece): void {
      const beside = { x: piece.x + footprint(piece).width + GRID, y: piece.y };
      add({ ...piece, id: newId(), locked: false, ...settle(piece, beside, room) });
    },
    move(piece: Piece, to: Point): void {
      preview.end();
      onMove(piece.id, to);
      mutate.movePiece({ ...nameOf(piece), x: to.x, y: to.y });
      undo.remember(() => mutate.movePiece({ ...nameOf(piece), x: piece.x, y: piece.y }));
    },
    turn(piece: Piece): void {
      mutate.turnPiece({ ...nameOf(piece), turn: (piece.turn + 1) % 4 });
      undo.remember(() => mutate.turnPiece({ ...nameOf(piece), turn: piece.turn }));
    },
    recolour(piece: Piece, colour: Colour): void {
      mutate.colourPiece({ ...nameOf(piece), colour });
      undo.remember(() => mutate.colourPiece({ ...nameOf(piece), colour: piece.colour }));
    },
    rename(piece: Piece, name: string): void {
      mutate.renamePiece({ ...nameOf(piece), name });
      undo.remember(() => mutate.renamePiece({ ...nameOf(piece), name: piece.name }));
    },
    lock(piece: Piece, locked: boolean): void {
      mutate.lockPiece({ ...nameOf(piece), locked });
      undo.remember(() => mutate.lockPiece({ ...nameOf(piece), locked: piece.locked }));
    },
    remove(piece: Piece): void {
      if (!piece.locked) {
        mutate.removePiece(nameOf(piece));
        undo.remember(() => mutate.addPiece(piece));
        onSelect(null);
      }
    },
  };
}

function nameOf(piece: Piece): Pick<Piece, "room" | "id"> {
  return { room: piece.room, id: piece.id };
}
