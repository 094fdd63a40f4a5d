/** The tiles: how many there are of each letter, and what it counts; and the squares that count more. */

const TILES: Record<string, readonly [count: number, value: number]> = {
  A: [9, 1], B: [2, 3], C: [2, 3], D: [4, 2], E: [12, 1], F: [2, 4], G: [3, 2], H: [2, 4], I: [9, 1],
  J: [1, 8], K: [1, 5], L: [4, 1], M: [2, 3], N: [6, 1], O: [8, 1], P: [2, 3], Q: [1, 10], R: [6, 1],
  S: [4, 1], T: [6, 1], U: [4, 1], V: [2, 4], W: [2, 4], X: [1, 8], Y: [2, 4], Z: [1, 10],
};

export const SIZE = 11;
export const CENTRE = Math.floor((SIZE * SIZE) / 2);
export const RACK = 7;

export const BONUSES = ["2L", "3L", "2W", "3W"] as const;
export type Bonus = (typeof BONUSES)[number];

export const BONUS_WORDS: Record<Bonus, string> = { "2L": "double letter", "3L": "triple letter", "2W": "double word", "3W": "triple word" };

export function valueOf(letter: string): number {
  return TILES[letter]?.[1] ?? 0;
}

/** All tiles, mixed by `random`, which gives numbers from 0 up to 1. */
export function mixedBag(random: () => number): string {
  const bag = Object.entries(TILES).flatMap(([letter, [count]]) => Array<string>(count).fill(letter));
  for (let end = bag.length - 1; end > 0; end -= 1) {
    const other = Math.floor(random() * (end + 1));
    [bag[end], bag[other]] = [bag[other] ?? "", bag[end] ?? ""];
  }
  return bag.join("");
}

/** The same in all four corners. */
export function bonusOf(at: number): Bonus | undefined {
  const fold = (place: number): number => Math.min(place, SIZE - 1 - place);
  const [low = 0, high = 0] = [fold(at % SIZE), fold(Math.floor(at / SIZE))].sort((a, b) => a - b);
  return PLACES[`${low},${high}`];
}

const PLACES: Record<string, Bonus> = {
  "0,0": "3W", "0,5": "3W", "1,1": "2W", "2,2": "2W", "5,5": "2W", "3,3": "3L", "1,4": "3L", "0,3": "2L", "2,5": "2L", "4,4": "2L",
};
