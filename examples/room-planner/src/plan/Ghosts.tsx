/** While there is no connection: where the others still see what was moved or removed here. */

import { useConnectionState, useReactive } from "@iolite/react";

import type { Piece } from "../schema";
import { footprint } from "./geometry";

export function Ghosts({ room, pieces }: { room: string; pieces: readonly Piece[] }) {
  const { status } = useConnectionState();
  const { data: confirmed = [] } = useReactive((tx) => tx.furniture.range({ prefix: [room] }), [room], { view: "confirmed" });
  if (status === "online") {
    return null;
  }
  const here = new Map(pieces.map((piece) => [piece.id, piece]));
  return confirmed.filter((piece) => !isSamePlace(piece, here.get(piece.id))).map((piece) => {
    const { width, depth } = footprint(piece);
    return (
      <rect key={piece.id} className="ghost" x={piece.x - width / 2} y={piece.y - depth / 2} width={width} height={depth} rx="6">
        <title>{`The others still see ${piece.name} here`}</title>
      </rect>
    );
  });
}

function isSamePlace(a: Piece, b: Piece | undefined): boolean {
  return b !== undefined && a.x === b.x && a.y === b.y && a.turn === b.turn;
}
