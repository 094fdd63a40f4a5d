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

/** Where a place of the old text is in the new one. */
export function moved(place: number, { at, removed, inserted }: Difference): number {
  if (place <= at) {
    return place;
  }
  return place >= at + removed ? place + inserted.length - removed : at + inserted.length;
}
