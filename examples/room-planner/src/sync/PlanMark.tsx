/** A mark as a badge: on the plan, and, wrapped in a picture of its own, in text. */

import type { Mark } from "./marks";
import { markWords } from "./markWords";

export function PlanMark({ mark, x, y }: { mark: Mark; x: number; y: number }) {
  return (
    <g className={`mark mark-${mark}`} transform={`translate(${x} ${y})`}>
      <circle r="11" />
      {mark === "confirmed" && <path d="m-5 0 3.500 4L5-4" />}
      {mark === "undelivered" && <path d="M0-6a6 6 0 0 1 0 12z" />}
      {mark === "doubtful" && <path d="M0-6V1M0 5.500v.1" />}
    </g>
  );
}

export function TextMark({ mark }: { mark: Mark }) {
  return (
    <svg className="text-mark" viewBox="-14 -14 28 28" role="img" aria-label={markWords(mark)} data-mark={mark}>
      <title>{markWords(mark)}</title>
      <PlanMark mark={mark} x={0} y={0} />
    </svg>
  );
}
