/** What a new room begins with. */

import { kindOf, type KindName } from "../plan/catalogue";
import type { Piece } from "../schema";

export const starterRoom = { width: 520, depth: 400, budget: 2600 };

const PIECES: readonly [KindName, string, number, number, number, string?][] = [
  ["door", "Door", 95, 45, 0],
  ["window", "Window", 330, 5, 0],
  ["rug", "Rug", 320, 260, 0],
  ["sofa", "Sofa", 320, 345, 2],
  ["table", "Coffee table", 320, 250, 0],
  ["desk", "Desk", 455, 110, 1],
  ["chair", "Desk chair", 395, 115, 3],
  ["shelf", "Books", 15, 250, 1],
  ["plant", "Monstera", 485, 365, 0],
  ["lamp", "Reading lamp", 190, 350, 0],
];

export function starterPieces(room: string): Piece[] {
  return PIECES.map(([kind, name, x, y, turn, colour = kindOf(kind).colour], index) => {
    return { room, id: `${kind}-${index + 1}`, kind, name, colour, x, y, turn, locked: false };
  });
}
