/** Furniture from above, drawn around its own centre in centimetres. `fill` and `line` are set in plan.css by the piece's colour. */

import type { ReactNode } from "react";

import { kindOf } from "./catalogue";

type Draw = (width: number, depth: number) => ReactNode;

/** A rectangle by its distances from the piece's edges. */
function box(w: number, d: number, inset: { l?: number; t?: number; r?: number; b?: number }, className: string, radius = 4) {
  const { l = 0, t = 0, r = 0, b = 0 } = inset;
  return <rect className={className} x={-w / 2 + l} y={-d / 2 + t} width={w - l - r} height={d - t - b} rx={radius} />;
}

const SHAPES: Record<string, Draw> = {
  bed: (w, d) => (
    <>
      {box(w, d, {}, "frame", 6)}
      {box(w, d, { l: 4, t: 12, r: 4, b: 4 }, "paper", 6)}
      {box(w, d, { l: 12, t: 18, r: w / 2 + 4, b: d - 54 }, "paper edge", 9)}
      {box(w, d, { l: w / 2 + 4, t: 18, r: 12, b: d - 54 }, "paper edge", 9)}
      {box(w, d, { l: 4, t: 70, r: 4, b: 4 }, "body", 6)}
      <path className="line" d={`M${-w / 2 + 4} ${-d / 2 + 92}H${w / 2 - 4}`} />
    </>
  ),
  sofa: (w, d) => (
    <>
      {box(w, d, {}, "frame", 14)}
      {box(w, d, { l: 20, t: 24, r: w / 2 + 1, b: 6 }, "body", 8)}
      {box(w, d, { l: w / 2 + 1, t: 24, r: 20, b: 6 }, "body", 8)}
    </>
  ),
  desk: (w, d) => (
    <>
      {box(w, d, {}, "body", 3)}
      {box(w, d, { l: w / 2 - 28, t: 7, r: w / 2 - 28, b: d - 14 }, "dark", 2)}
      <circle className="paper edge" cx={w / 2 - 20} cy={8} r={6} />
    </>
  ),
  table: (w, d) => (
    <>
      {box(w, d, {}, "body", 10)}
      {box(w, d, { l: 8, t: 8, r: 8, b: 8 }, "line", 6)}
    </>
  ),
  chair: (w, d) => (
    <>
      {box(w, d, { l: 4, t: 8, r: 4, b: 2 }, "body", 9)}
      {box(w, d, { l: 2, r: 2, b: d - 11 }, "frame", 5)}
    </>
  ),
  wardrobe: (w, d) => (
    <>
      {box(w, d, {}, "body", 3)}
      <path className="line" d={`M${-w / 2} ${d / 2 - 7}H${w / 2}M0 ${d / 2 - 7}V${d / 2}M${-w / 2 + 10} ${-4}H${w / 2 - 10}`} />
      {[-3, -2, -1, 1, 2, 3].map((n) => (
        <path key={n} className="line" d={`M${(n * w) / 8 - 4} ${-16}L${(n * w) / 8 + 4} ${8}`} />
      ))}
    </>
  ),
  shelf: (w, d) => (
    <>
      {box(w, d, {}, "body", 2)}
      {[10, 17, 26, 32, 48, 55, 61].map((x) => (
        <path key={x} className="line" d={`M${-w / 2 + x} ${-d / 2 + 5}V${d / 2 - 5}`} />
      ))}
    </>
  ),
  lamp: (w) => (
    <>
      <circle className="glow" r={w / 2 + 22} />
      <circle className="body" r={w / 2} />
      <circle className="line" r={w / 4} />
      <circle className="dark" r={2.5} />
    </>
  ),
  plant: (w) => (
    <>
      {[0, 60, 120, 180, 240, 300].map((angle) => (
        <ellipse key={angle} className="body" cx={0} cy={-w / 4} rx={w / 7} ry={w / 4} transform={`rotate(${angle})`} />
      ))}
      <circle className="frame" r={w / 9} />
    </>
  ),
  rug: (w, d) => (
    <>
      {box(w, d, {}, "soft", 4)}
      {box(w, d, { l: 10, t: 10, r: 10, b: 10 }, "line", 2)}
      {box(w, d, { l: 18, t: 18, r: 18, b: 18 }, "line", 2)}
    </>
  ),
  door: (w, d) => (
    <>
      <rect className="opening" x={-w / 2} y={-d / 2 - 13} width={w} height={14} />
      <path className="swing" d={`M${w / 2} ${-d / 2}A${w} ${w} 0 0 1 ${-w / 2} ${d / 2}V${-d / 2}Z`} />
      <rect className="body" x={-w / 2} y={-d / 2} width={5} height={d} />
    </>
  ),
  window: (w, d) => (
    <>
      <rect className="opening" x={-w / 2} y={-d / 2 - 13} width={w} height={14} />
      <rect className="body" x={-w / 2} y={-d / 2 - 9} width={w} height={6} />
    </>
  ),
};

export function FurnitureShape({ kind }: { kind: string }) {
  const { width, depth } = kindOf(kind);
  const draw: Draw = SHAPES[kind] ?? ((w, d) => box(w, d, {}, "body"));
  return <>{draw(width, depth)}</>;
}
