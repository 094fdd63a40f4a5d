/** The room from above: walls, grid, measures, and the furniture, which can be dragged and has the keyboard's focus one by one. */

import { type ReactNode, useRef } from "react";

import type { Piece, Room } from "../schema";
import type { Marks } from "../sync/marks";
import type { Undelivered } from "../sync/undelivered";
import { kindOf } from "./catalogue";
import { metres, overlaps } from "./geometry";
import { Ghosts } from "./Ghosts";
import { PieceOnPlan } from "./PieceOnPlan";
import type { PieceActions } from "./usePieceActions";
import { usePieceDrag } from "./usePieceDrag";
import { usePieceKeys } from "./usePieceKeys";

const MARGIN = 44;
const WALL = 12;
const LAYERS = { floor: 0, wall: 1, room: 2 } as const;

export interface FloorPlanProps {
  readonly room: Room;
  readonly pieces: readonly Piece[];
  readonly marks: Marks;
  readonly undelivered: Undelivered;
  readonly actions: PieceActions;
  readonly selected: string | null;
  onSelect(id: string | null): void;
}

export function FloorPlan({ room, pieces, marks, undelivered, actions, selected, onSelect }: FloorPlanProps) {
  const plan = useRef<SVGSVGElement>(null);
  const drag = usePieceDrag({ plan, room, onPreview: actions.preview, onDrop: actions.move });
  const onKey = usePieceKeys(room, actions, () => onSelect(null));
  const held = (piece: Piece): Piece => (drag.held?.id === piece.id ? { ...piece, ...drag.held } : piece);
  const shown = pieces.map(held).sort((a, b) => LAYERS[kindOf(a.kind).place] - LAYERS[kindOf(b.kind).place]);
  const inTheWay = new Set(overlaps(shown).flatMap(([a, b]) => [a.id, b.id]));
  const draw = (piece: Piece): ReactNode => (
    <PieceOnPlan
      key={piece.id}
      piece={piece}
      mark={marks.get(piece.id)}
      held={drag.held?.id === piece.id}
      selected={selected === piece.id}
      inTheWay={inTheWay.has(piece.id)}
      onFocus={() => onSelect(piece.id)}
      onKeyDown={(event) => onKey(event, piece)}
      onPointerDown={(event) => drag.onPointerDown(event, piece)}
      onPointerMove={drag.onPointerMove}
      onPointerUp={drag.onPointerUp}
      onPointerCancel={drag.onPointerCancel}
    />
  );
  // A ghost stands on the rugs.
  const [onFloor, standing] = [shown.filter(isOnFloor), shown.filter((piece) => !isOnFloor(piece))];
  return (
    <svg
      ref={plan}
      className="plan"
      viewBox={`${-MARGIN} ${-MARGIN} ${room.width + 2 * MARGIN - 12} ${room.depth + 2 * MARGIN - 12}`}
      role="group"
      aria-label={`Plan of ${room.name}, ${metres(room.width)} by ${metres(room.depth)} metres`}
      onPointerDown={(event) => event.target === event.currentTarget && onSelect(null)}
    >
      <Floor room={room} onClick={() => onSelect(null)} />
      {onFloor.map(draw)}
      <Ghosts pieces={pieces} undelivered={undelivered} held={drag.held?.id} />
      {standing.map(draw)}
    </svg>
  );
}

function isOnFloor(piece: Piece): boolean {
  return kindOf(piece.kind).place === "floor";
}

function Floor({ room, onClick }: { room: Room; onClick: () => void }) {
  const { width, depth } = room;
  return (
    <>
      <defs>
        <pattern id="grid" width="50" height="50" patternUnits="userSpaceOnUse">
          <path className="grid-line" d="M50 0H0V50" />
        </pattern>
      </defs>
      <rect className="wall" x={-WALL} y={-WALL} width={width + 2 * WALL} height={depth + 2 * WALL} rx="3" />
      <rect className="floor" width={width} height={depth} onPointerDown={onClick} />
      <rect className="grid" width={width} height={depth} fill="url(#grid)" />
      <g className="measures" aria-hidden="true">
        <path d={`M0 ${-28}H${width}M0 -34v12M${width} -34v12M-28 0V${depth}M-34 0h12M-34 ${depth}h12`} />
        <text x={width / 2} y={-24}>{`${metres(width)} m`}</text>
        <text transform={`translate(-24 ${depth / 2}) rotate(-90)`}>{`${metres(depth)} m`}</text>
      </g>
    </>
  );
}
