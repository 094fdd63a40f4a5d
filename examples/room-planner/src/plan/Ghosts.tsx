/** Where others may still see what was moved or removed here. */

import type { Piece } from "../schema";
import type { Undelivered } from "../sync/undelivered";
import { FurnitureShape } from "./FurnitureShape";
import { footprint, metres } from "./geometry";

export interface GhostsProps {
  readonly pieces: readonly Piece[];
  readonly undelivered: Undelivered;
  /** The piece that is dragged: its way is not worth a ghost at each step. */
  readonly held: string | undefined;
}

export function Ghosts({ pieces, undelivered: { ids, seen }, held }: GhostsProps) {
  const here = new Map(pieces.map((piece) => [piece.id, piece]));
  const isElsewhere = (piece: Piece): boolean => ids.has(piece.id) && piece.id !== held && !isSamePlace(piece, here.get(piece.id));
  return seen.filter(isElsewhere).map((piece) => <Ghost key={piece.id} piece={piece} />);
}

function Ghost({ piece }: { piece: Piece }) {
  const { width, depth } = footprint(piece);
  const words = `Others may still see ${piece.name} here, ${metres(piece.x)} metres from the left, ${metres(piece.y)} metres from the top`;
  return (
    <g
      className={`ghost colour-${piece.colour}`}
      transform={`translate(${piece.x} ${piece.y})`}
      role="img"
      aria-label={words}
      data-ghost={piece.id}
      data-x={piece.x}
      data-y={piece.y}
    >
      <title>{words}</title>
      <g className="ghost-shape" transform={`rotate(${piece.turn * 90})`}>
        <FurnitureShape kind={piece.kind} />
      </g>
      <rect className="ghost-outline" x={-width / 2} y={-depth / 2} width={width} height={depth} rx="6" />
    </g>
  );
}

function isSamePlace(a: Piece, b: Piece | undefined): boolean {
  return b !== undefined && a.x === b.x && a.y === b.y && a.turn === b.turn;
}
