/** How keys walk over the cells, as in any sheet: up, down and Enter at once, and to the sides from the ends of a text. */

import { COLUMNS, ROWS } from "./model";

type Input = Pick<HTMLInputElement, "dataset" | "selectionStart" | "selectionEnd" | "value">;

/** The cell to which a key leads, or nothing if it stays in its cell. */
export function walk(input: Input, key: string): string | undefined {
  const { at = "A1" } = input.dataset;
  const [column, row] = [COLUMNS.findIndex((column) => column === at[0]), Number(at.slice(1)) - 1];
  const [sideways, down] = stepOf(input, key);
  const next = [COLUMNS[column + sideways], ROWS[row + down]];
  return (sideways !== 0 || down !== 0) && next[0] !== undefined && next[1] !== undefined ? next.join("") : undefined;
}

function stepOf({ selectionStart, selectionEnd, value }: Input, key: string): readonly [sideways: number, down: number] {
  switch (key) {
    case "ArrowUp":
      return [0, -1];
    case "ArrowDown":
    case "Enter":
      return [0, 1];
    case "ArrowLeft":
      return selectionEnd === 0 ? [-1, 0] : [0, 0];
    case "ArrowRight":
      return selectionStart === value.length ? [1, 0] : [0, 0];
    default:
      return [0, 0];
  }
}
