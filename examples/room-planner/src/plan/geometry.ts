/** Where things are in a room, in whole centimetres from its top left corner. A piece is placed by its centre. */

import { kindOf } from "./catalogue";

export const GRID = 10;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly depth: number;
}

export interface Placed extends Point {
  readonly kind: string;
  /** Quarter turns, clockwise. */
  readonly turn: number;
}

/** The space that a piece takes on the floor, as turned. */
export function footprint(piece: Pick<Placed, "kind" | "turn">): Size {
  const { width, depth } = kindOf(piece.kind);
  return piece.turn % 2 === 0 ? { width, depth } : { width: depth, depth: width };
}

/** The nearest place whose edges are on the grid, inside the room. */
export function settle(piece: Pick<Placed, "kind" | "turn">, at: Point, room: Size): Point {
  const { width, depth } = footprint(piece);
  return { x: settleAxis(at.x, width, room.width), y: settleAxis(at.y, depth, room.depth) };
}

function settleAxis(centre: number, length: number, limit: number): number {
  const edge = Math.round((centre - length / 2) / GRID) * GRID;
  return Math.round(Math.max(0, Math.min(edge, limit - length)) + length / 2);
}

function overlap(a: Placed, b: Placed): boolean {
  const [p, q] = [footprint(a), footprint(b)];
  const apartX = Math.abs(a.x - b.x) * 2 >= p.width + q.width;
  const apartY = Math.abs(a.y - b.y) * 2 >= p.depth + q.depth;
  return !apartX && !apartY;
}

/** The pairs that stand in each other's way. Windows take no floor, and rugs lie under the rest. */
export function overlaps<T extends Placed>(pieces: readonly T[]): [T, T][] {
  const standing = pieces.filter((piece) => kindOf(piece.kind).place !== "floor" && piece.kind !== "window");
  return standing.flatMap((a, index) =>
    standing
      .slice(index + 1)
      .filter((b) => overlap(a, b))
      .map((b): [T, T] => [a, b]),
  );
}

/** A free spot for a new piece: the middle if nothing stands there, else the nearest to it. */
export function freeSpot(kind: string, pieces: readonly Placed[], room: Size): Point {
  const middle = { x: room.width / 2, y: room.depth / 2 };
  const spots: Point[] = [];
  for (let x = 0; x <= room.width; x += 4 * GRID) {
    for (let y = 0; y <= room.depth; y += 4 * GRID) {
      spots.push({ x, y });
    }
  }
  spots.sort((a, b) => distance(a, middle) - distance(b, middle));
  for (const spot of [middle, ...spots]) {
    const piece = { kind, turn: 0, ...settle({ kind, turn: 0 }, spot, room) };
    if (!pieces.some((other) => overlap(piece, other))) {
      return { x: piece.x, y: piece.y };
    }
  }
  return settle({ kind, turn: 0 }, middle, room);
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

export function metres(centimetres: number): string {
  return (centimetres / 100).toFixed(2).replace(/0$/, "");
}
