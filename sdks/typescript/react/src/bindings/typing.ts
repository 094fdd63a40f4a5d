/**
 * What is typed into a box, on its way to the text that the box shows.
 *
 * Invariant: the box holds what was last shown, and what was typed since and is not written yet.
 */

import type { LiveText } from "@iolite/client";

import { difference, moved } from "./difference.js";
import { type OnError, tell } from "./onError.js";

/** How soon it is tried again to write what was typed while nobody knew the text. */
const AGAIN_MS = 100;

export class Typing {
  readonly #live: LiveText;
  #shown: string | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(live: LiveText) {
    this.#live = live;
  }

  /** Writes what was typed, and shows what others wrote. What can never be written is told, and not shown any more. */
  meet(box: HTMLTextAreaElement, onError: OnError | undefined): void {
    this.end();
    const text = this.#live.written;
    if (text === undefined) {
      // As while this tab takes the lead: what is typed stays in the box.
      if (this.#shown !== undefined && this.#shown !== box.value) {
        this.#again = setTimeout(() => this.meet(box, onError), AGAIN_MS);
      }
      return;
    }
    tell(onError, () => this.#write(box, text));
    this.#show(box, this.#live.written ?? text);
  }

  /** The box is left, or shows another text. */
  end(): void {
    clearTimeout(this.#again);
  }

  #write({ value, selectionStart }: HTMLTextAreaElement, text: string): void {
    const shown = this.#shown ?? value;
    if (shown !== value) {
      const typed = difference(shown, value, selectionStart);
      // What others did that is not shown yet.
      const others = difference(shown, text);
      const [at, end] = [moved(typed.at, others), moved(typed.at + typed.removed, others)];
      this.#live.splice(at, end - at, typed.inserted);
    }
  }

  #show(box: HTMLTextAreaElement, text: string): void {
    if (text !== box.value) {
      const others = difference(box.value, text);
      const [start, end] = [moved(box.selectionStart, others), moved(box.selectionEnd, others)];
      box.value = text;
      box.setSelectionRange(start, end);
    }
    this.#shown = box.value;
  }
}
