/** What makes one text another, as one splice. */

export interface Difference {
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

/** Of several places the one that ends at the caret of the new text. No character is cut in two. */
export function difference(from: string, to: string, caret = to.length): Difference {
  const shorter = Math.min(from.length, to.length);
  let behind = commonEnd(from, to, Math.min(shorter, to.length - caret));
  let at = 0;
  while (at < shorter - behind && from[at] === to[at]) {
    at += 1;
  }
  behind = commonEnd(from, to, shorter - at);
  at -= at > 0 && /[\ud800-\udbff]/.test(from.charAt(at - 1)) ? 1 : 0;
  behind -= behind > 0 && /[\udc00-\udfff]/.test(from.charAt(from.length - behind)) ? 1 : 0;
  return { at, removed: from.length - at - behind, inserted: to.slice(at, to.length - behind) };
}

function commonEnd(from: string, to: string, most: number): number {
  let count = 0;
  while (count < most && from.at(-1 - count) === to.at(-1 - count)) {
    count += 1;
  }
  return count;
}

/** Where a place of the old text is in the new one. `side`: where it is of what was inserted right there. */
export function moved(place: number, { at, removed, inserted }: Difference, side: "before" | "behind" = "before"): number {
  if (place < at || (place === at && side === "before")) {
    return place;
  }
  return place >= at + removed ? place + inserted.length - removed : at + inserted.length;
}

/** A change of a text, made in what another change has made of the same text. `side`: where it is of what that one inserted right there. */
export function carried({ at, removed, inserted }: Difference, over: Difference, side: "before" | "behind"): Difference {
  const start = moved(at, over, removed > 0 ? "behind" : side);
  const end = removed > 0 ? moved(at + removed, over) : start;
  return { at: start, removed: Math.max(0, end - start), inserted };
}

export function applied(text: string, { at, removed, inserted }: Difference): string {
  return text.slice(0, at) + inserted + text.slice(at + removed);
}

/** What takes a change of this text back. */
export function inverse(text: string, { at, removed, inserted }: Difference): Difference {
  return { at, removed: inserted.length, inserted: text.slice(at, at + removed) };
}

/** Half of a character: a surrogate without the other one. */
const HALF = /[\ud800-\udfff]/gu;

export function hasHalf(text: string): boolean {
  return text.search(HALF) >= 0;
}

export function withoutHalves(text: string): string {
  return text.replace(HALF, "");
}
