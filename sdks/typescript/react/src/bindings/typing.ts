/**
 * What is typed into a box, on its way to the text that the box shows.
 *
 * Invariant: the box holds what was last shown, and what was typed since and is not written yet.
 */

import type { LiveText } from "@iolite/client";

import { difference, moved } from "./difference.js";
import { follow, type OnError, report } from "./onError.js";

export type Box = HTMLInputElement | HTMLTextAreaElement;

/** A text that can be typed into: `written` is it with what was typed here. */
export interface TypedText extends Pick<LiveText, "value" | "written" | "splice"> {
  /** The box was left: what was typed and is not in `value` yet is not waited for. */
  leave?(): void;
}

/** How soon it is tried again to write what was typed while this tab takes the lead. */
const AGAIN_MS = 100;

export class Typing {
  onError: OnError | undefined;
  readonly #text: TypedText;
  #box: Box | undefined;
  #shown = "";
  /** What the box held when something was typed into it last, until that is written: a form that is reset changes its boxes too. */
  #typed: string | undefined;
  #value: string | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(text: TypedText) {
    this.#text = text;
  }

  /** A box shows this text from now on, and nothing of another, until the function that comes back is called. */
  begin(box: Box): () => void {
    const typed = (): void => {
      this.#typed = box.value;
      this.meet();
    };
    const left = (): void => {
      this.#text.leave?.();
      this.meet();
    };
    this.#box = box;
    box.value = this.#typed ?? this.#shown;
    box.addEventListener("input", typed);
    box.addEventListener("focusout", left);
    return () => {
      box.removeEventListener("input", typed);
      box.removeEventListener("focusout", left);
      clearTimeout(this.#again);
      this.#box = undefined;
    };
  }

  /** Writes what was typed, and shows what others wrote. What can never be written is told, and not shown any more. */
  meet(): void {
    clearTimeout(this.#again);
    const text = this.#known();
    if (this.#box === undefined || text === undefined) {
      return;
    }
    if (this.#typed === undefined || this.#write(this.#typed, this.#box.selectionStart, text)) {
      this.#show(this.#box, this.#text.written ?? text);
    } else {
      this.#again = setTimeout(() => this.meet(), AGAIN_MS);
    }
  }

  /** While this tab takes the lead nothing is known of a text but what is shown; nor of one whose row is gone, but then its value is another. */
  #known(): string | undefined {
    const { value, written } = this.#text;
    const before = this.#value;
    this.#value = value;
    return written ?? (value === before && value !== undefined ? this.#shown : value);
  }

  /** False if it has to wait. */
  #write(whole: string, caret: number | null, text: string): boolean {
    const typed = difference(this.#shown, whole, caret ?? whole.length);
    // What others did that is not shown yet.
    const others = difference(this.#shown, text);
    const [at, end] = [moved(typed.at, others), moved(typed.at + typed.removed, others)];
    try {
      const handle = this.#text.splice(at, end - at, typed.inserted);
      void follow(this.onError, handle).finally(() => this.meet());
    } catch (error) {
      if ((error as { code?: unknown }).code === "not-ready") {
        return false;
      }
      report(this.onError, error);
    }
    return true;
  }

  #show(box: Box, text: string): void {
    if (text !== box.value) {
      const others = difference(box.value, text);
      const { selectionStart, selectionEnd } = box;
      box.value = text;
      // A box for an address or a number has no caret that one could ask for.
      if (selectionStart !== null && selectionEnd !== null) {
        box.setSelectionRange(moved(selectionStart, others), moved(selectionEnd, others));
      }
    }
    this.#shown = box.value;
    this.#typed = undefined;
    // What a form shows that is reset.
    box.defaultValue = this.#shown;
  }
}
