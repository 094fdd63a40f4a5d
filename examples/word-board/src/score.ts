/** What the tiles that were just laid count, or why they may not lie so. Pure: the mutator reads the board for it. */

import { bonusOf, CENTRE, SIZE, valueOf } from "./letters";

/** The letter at a square, empty if there is none. */
export type Board = (at: number) => string;

export interface Score {
  readonly words: readonly string[];
  readonly points: number;
}

type Direction = 1 | typeof SIZE;

/** The next square, or nothing past an edge. */
export function step(at: number, direction: Direction, by: 1 | -1): number | undefined {
  const next = at + direction * by;
  const inside = next >= 0 && next < SIZE * SIZE;
  const sameRow = Math.floor(next / SIZE) === Math.floor(at / SIZE);
  return inside && (direction === SIZE || sameRow) ? next : undefined;
}

/** All squares of the word through a square. */
function wordThrough(board: Board, at: number, direction: Direction): readonly number[] {
  let begin = at;
  for (let before = step(at, direction, -1); before !== undefined && board(before) !== ""; before = step(before, direction, -1)) {
    begin = before;
  }
  const squares = [begin];
  for (let after = step(begin, direction, 1); after !== undefined && board(after) !== ""; after = step(after, direction, 1)) {
    squares.push(after);
  }
  return squares;
}

/** @returns a text for the player if they may not lie so. */
export function scoreOf(board: Board, laid: ReadonlySet<number>): Score | string {
  const squares = [...laid].sort((a, b) => a - b);
  const [first] = squares;
  if (first === undefined) {
    return "Lay a tile first.";
  }
  const inRow = squares.every((at) => Math.floor(at / SIZE) === Math.floor(first / SIZE));
  const along: Direction = inRow ? 1 : SIZE;
  const main = wordThrough(board, first, along);
  if (!squares.every((at) => main.includes(at))) {
    return "The tiles have to stand in one line, without a gap.";
  }
  const across: Direction = inRow ? SIZE : 1;
  const words = [main, ...squares.map((at) => wordThrough(board, at, across))].filter((word) => word.length > 1);
  if (words.length === 0) {
    return "A word has two letters or more.";
  }
  if (!laid.has(CENTRE) && words.every((word) => word.every((at) => laid.has(at)))) {
    return board(CENTRE) === "" ? "The first word goes through the centre." : "The tiles have to touch some that lie there.";
  }
  const points = words.reduce((sum, word) => sum + pointsOf(board, word, laid), 0);
  return { words: words.map((word) => word.map(board).join("")), points };
}

function pointsOf(board: Board, word: readonly number[], laid: ReadonlySet<number>): number {
  let times = 1;
  let sum = 0;
  for (const at of word) {
    const bonus = laid.has(at) ? bonusOf(at) : undefined;
    const factor = Number(bonus?.[0] ?? 1);
    sum += valueOf(board(at)) * (bonus?.[1] === "L" ? factor : 1);
    times *= bonus?.[1] === "W" ? factor : 1;
  }
  return sum * times;
}
