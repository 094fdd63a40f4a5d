/** How the keys walk over the board, as in any grid: arrows, Home and End of a row, with Ctrl of the whole board. */

import { SIZE } from "./letters";

const STEPS: Record<string, readonly [column: number, row: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  Home: [-SIZE, 0],
  End: [SIZE, 0],
};

/** The square to which a key leads, or nothing if it leads nowhere. */
export function walk(at: number, key: string, withCtrl: boolean): number | undefined {
  const step = STEPS[key];
  if (step === undefined) {
    return undefined;
  }
  if (withCtrl) {
    return key === "Home" ? 0 : key === "End" ? SIZE * SIZE - 1 : undefined;
  }
  const inside = (place: number): number => Math.max(0, Math.min(SIZE - 1, place));
  return inside(Math.floor(at / SIZE) + step[1]) * SIZE + inside((at % SIZE) + step[0]);
}
