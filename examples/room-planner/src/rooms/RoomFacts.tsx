/** The room's measures, and its budget. */

import { useMutation } from "@iolite/react";

import { euros } from "../plan/catalogue";
import { GRID, metres } from "../plan/geometry";
import type { Room } from "../schema";
import { DraftInput } from "../styles/DraftInput";

const [LEAST, MOST] = [150, 1200];

export function RoomFacts({ room }: { room: Room }) {
  const resize = useMutation("resizeRoom");
  const setBudget = useMutation("setBudget");
  const { id, width, depth, budget, spent } = room;
  return (
    <div className="room-facts">
      <span className="measure">
        <Measure label="Width in metres" value={width} onCommit={(value) => resize({ room: id, width: value, depth })} />
        ×
        <Measure label="Depth in metres" value={depth} onCommit={(value) => resize({ room: id, width, depth: value })} />m
      </span>
      <span className="budget">
        <meter min={0} max={budget} high={budget * 0.9} value={spent} aria-label="Spent of the budget" />
        <span data-spent={spent}>{`${euros(spent)} of`}</span>
        <DraftInput
          label="Budget in euros"
          value={euros(budget)}
          maxLength={9}
          inputMode="numeric"
          onCommit={(text) => withNumber(text, (value) => setBudget({ room: id, budget: Math.round(value) }))}
        />
      </span>
    </div>
  );
}

function Measure({ label, value, onCommit }: { label: string; value: number; onCommit: (centimetres: number) => void }) {
  return (
    <DraftInput
      label={label}
      value={metres(value)}
      maxLength={5}
      inputMode="decimal"
      onCommit={(text) =>
        withNumber(text.replace(",", "."), (entered) => {
          const centimetres = Math.round((entered * 100) / GRID) * GRID;
          onCommit(Math.max(LEAST, Math.min(MOST, centimetres)));
        })
      }
    />
  );
}

function withNumber(text: string, then: (value: number) => void): void {
  const value = Number.parseFloat(text.replace(/[€,\s]/g, ""));
  if (Number.isFinite(value) && value >= 0 && value < 1e9) {
    then(value);
  }
}
