/**
 * Dragging one piece with mouse, pen or finger. The piece follows the pointer at once; `onPreview` is called on the way, as
 * often as it likes to be, and `onDrop` once at the end.
 */

import { useRef, useState, type PointerEvent, type RefObject } from "react";

import type { Piece } from "../schema";
import { settle, type Point, type Size } from "./geometry";

/** How far a finger may wander before a tap becomes a drag, in pixels. */
const SLACK = 4;

interface Drag {
  readonly piece: Piece;
  /** From the pointer to the piece's centre. */
  readonly grip: Point;
  readonly from: Point;
  moved: boolean;
}

export interface DragTarget {
  readonly plan: RefObject<SVGSVGElement | null>;
  readonly room: Size;
  onPreview(piece: Piece, to: Point): void;
  onDrop(piece: Piece, to: Point): void;
}

export interface Held extends Point {
  readonly id: string;
}

export function usePieceDrag(target: DragTarget) {
  const drag = useRef<Drag | null>(null);
  const [held, setHeld] = useState<Held | null>(null);

  function onPointerDown(event: PointerEvent<SVGGElement>, piece: Piece): void {
    if (event.button !== 0 || piece.locked) {
      return;
    }
    const at = inRoom(target.plan.current, event);
    if (at !== null) {
      event.currentTarget.setPointerCapture(event.pointerId);
      const from = { x: event.clientX, y: event.clientY };
      drag.current = { piece, grip: { x: piece.x - at.x, y: piece.y - at.y }, from, moved: false };
    }
  }

  function onPointerMove(event: PointerEvent<SVGGElement>): void {
    const now = drag.current;
    const at = now && inRoom(target.plan.current, event);
    if (!now || !at) {
      return;
    }
    now.moved ||= Math.hypot(event.clientX - now.from.x, event.clientY - now.from.y) > SLACK;
    if (now.moved) {
      const to = settle(now.piece, { x: at.x + now.grip.x, y: at.y + now.grip.y }, target.room);
      setHeld({ id: now.piece.id, ...to });
      target.onPreview(now.piece, to);
    }
  }

  function onPointerUp(): void {
    const now = drag.current;
    if (now?.moved && held !== null) {
      target.onDrop(now.piece, { x: held.x, y: held.y });
    }
    cancel();
  }

  function cancel(): void {
    drag.current = null;
    setHeld(null);
  }

  return { held, onPointerDown, onPointerMove, onPointerUp, onPointerCancel: cancel };
}

/** Where the pointer is in the room, in centimetres. */
function inRoom(plan: SVGSVGElement | null, event: PointerEvent): Point | null {
  const matrix = plan?.getScreenCTM();
  return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : null;
}
