/** One piece of furniture on the plan, with how far the last change of it got. */

import type { KeyboardEventHandler, PointerEventHandler } from "react";

import type { Piece } from "../schema";
import type { Mark } from "../sync/marks";
import { markWords } from "../sync/markWords";
import { PlanMark } from "../sync/PlanMark";
import { kindOf } from "./catalogue";
import { FurnitureShape } from "./FurnitureShape";
import { footprint, metres, type Size } from "./geometry";

export interface PieceOnPlanProps {
  readonly piece: Piece;
  readonly mark: Mark | undefined;
  readonly held: boolean;
  readonly selected: boolean;
  readonly inTheWay: boolean;
  readonly onFocus: () => void;
  readonly onKeyDown: KeyboardEventHandler<SVGGElement>;
  readonly onPointerDown: PointerEventHandler<SVGGElement>;
  readonly onPointerMove: PointerEventHandler<SVGGElement>;
  readonly onPointerUp: PointerEventHandler<SVGGElement>;
  readonly onPointerCancel: PointerEventHandler<SVGGElement>;
}

export function PieceOnPlan({ piece, mark, held, selected, inTheWay, ...handlers }: PieceOnPlanProps) {
  const { place } = kindOf(piece.kind);
  const size = footprint(piece);
  const [w, d] = [size.width / 2, size.depth / 2];
  const classes = ["piece", `colour-${piece.colour}`, place, held && "held", selected && "selected", inTheWay && "in-the-way"];
  return (
    <g
      className={classes.filter(Boolean).join(" ")}
      style={{ transform: `translate(${piece.x}px, ${piece.y}px)` }}
      tabIndex={0}
      role="button"
      aria-label={describe(piece, mark, inTheWay)}
      aria-pressed={selected}
      data-piece={piece.id}
      data-mark={mark ?? "none"}
      data-x={piece.x}
      data-y={piece.y}
      {...handlers}
    >
      <g className="turned" style={{ transform: `rotate(${piece.turn * 90}deg)` }}>
        <FurnitureShape kind={piece.kind} />
      </g>
      <rect className="outline" x={-w - 5} y={-d - 5} width={2 * w + 10} height={2 * d + 10} rx="8" />
      {place === "room" && fits(piece.name, size) && <text className="piece-name">{piece.name}</text>}
      {piece.locked && <Padlock x={-w - 3} y={-d - 3} />}
      {mark && <PlanMark mark={mark} x={w + 3} y={-d - 3} />}
    </g>
  );
}

/** Whether a name can be written on a piece: small ones have it in their label only. */
function fits(name: string, { width, depth }: Size): boolean {
  return name.length * 6.6 < width - 4 && depth >= 36;
}

function Padlock({ x, y }: { x: number; y: number }) {
  return (
    <g className="padlock" transform={`translate(${x} ${y})`}>
      <circle r="11" />
      <path d="M-4.5 -1h9v6.5h-9zM-2.8 -1v-2a2.8 2.8 0 0 1 5.6 0v2" />
    </g>
  );
}

function describe(piece: Piece, mark: Mark | undefined, inTheWay: boolean): string {
  const parts = [
    piece.name,
    `${metres(piece.x)} metres from the left, ${metres(piece.y)} metres from the top`,
    piece.locked && "locked",
    inTheWay && "overlaps another piece",
    mark && markWords(mark),
  ];
  return parts.filter(Boolean).join(", ");
}
