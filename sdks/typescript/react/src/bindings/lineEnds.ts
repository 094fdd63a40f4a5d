/**
 * The characters of a text that a box shows, and the place of the text where an edit of these belongs.
 *
 * A textarea shows `\r\n` and `\r` as `\n`, and an input shows no line end at all, so their positions are not the text's. Line ends are not normalised instead:
 * a box that rewrote a text because somebody opened it would edit what nobody typed, and two boxes that did so at the same time would each insert the same
 * line ends. Clients in other languages and older apps write `\r\n` on, too.
 *
 * Invariants: a text changes only where somebody typed; `\r\n` is one line end, which an edit leaves or replaces as a whole; what a box shows after an edit of a
 * text is what it shows of the text after that.
 */

import type { MutationHandle } from "@iolite/client";

import { type Difference } from "./difference.js";
import type { TypedText } from "./typing.js";

/** A box shows each line end as `\n`, or none of them. */
export type LineEnds = "shown" | "hidden";

export function shownOf(text: string, ends: LineEnds): string {
  return ends === "hidden" ? text.replace(/[\r\n]/g, "") : text.replace(/\r\n?/g, "\n");
}

/** The edit of a text that an edit of what is shown means. */
export function editOfText(text: string, { at, removed, inserted }: Difference, ends: LineEnds): Difference {
  if (ends === "hidden") {
    return editBesideHidden(text, { at, removed, inserted });
  }
  const start = behindShown(text, at);
  const end = removed > 0 ? behindShown(text, at + removed) : start;
  // A `\r` that stood alone would be one line end with a `\n` that comes behind it now, so it becomes `\n`, and so do others before it.
  const isJoined = inserted === "" ? text[end] === "\n" : inserted.startsWith("\n");
  const joined = isJoined ? loneBefore(text, start) : 0;
  return { at: start - joined, removed: end - start + joined, inserted: "\n".repeat(joined) + inserted };
}

/** How many `\r` stand right before a place that is in no pair. */
function loneBefore(text: string, place: number): number {
  let count = 0;
  while (text[place - 1 - count] === "\r") {
    count += 1;
  }
  return count;
}

/** The place in the text behind so many shown characters, where each pair of `\r\n` is one. */
function behindShown(text: string, count: number): number {
  let from = 0;
  let left = count;
  for (;;) {
    const pair = text.indexOf("\r\n", from);
    if (pair < 0 || pair - from >= left) {
      return from + left;
    }
    left -= pair - from + 1;
    from = pair + 2;
  }
}

/** Where all that is shown is replaced, the hidden line ends are too: nobody could remove them otherwise. */
function editBesideHidden(text: string, { at, removed, inserted }: Difference): Difference {
  const places: number[] = [];
  for (let place = 0; place < text.length; place += 1) {
    if (text[place] !== "\r" && text[place] !== "\n") {
      places.push(place);
    }
  }
  if (at === 0 && removed === places.length) {
    return { at: 0, removed: text.length, inserted };
  }
  const behind = (count: number): number => (places[count - 1] ?? -1) + 1;
  const start = removed > 0 ? behind(at + 1) - 1 : behind(at);
  return { at: start, removed: removed > 0 ? behind(at + removed) - start : 0, inserted };
}

/** A text as a box shows it. */
export class ShownText implements TypedText {
  readonly #text: TypedText;
  readonly #ends: LineEnds;

  constructor(text: TypedText, ends: LineEnds) {
    this.#text = text;
    this.#ends = ends;
  }

  get value(): string | undefined {
    return this.#shown(this.#text.value);
  }

  get written(): string | undefined {
    return this.#shown(this.#text.written);
  }

  splice(at: number, removed: number, inserted: string): MutationHandle {
    const text = this.#text.written;
    const edit = { at, removed, inserted };
    const own = text === undefined ? edit : editOfText(text, edit, this.#ends);
    return this.#text.splice(own.at, own.removed, own.inserted);
  }

  leave(): void {
    this.#text.leave?.();
  }

  #shown(text: string | undefined): string | undefined {
    return text === undefined ? undefined : shownOf(text, this.#ends);
  }
}
