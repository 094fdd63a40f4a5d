/**
 * What is typed into a box, on its way to the text that the box shows.
 *
 * Invariants: the box holds what was last shown, and what was typed since and is not written yet, which is written also when the box is gone; what an input
 * method composes is not replaced; half of a character is not written, and waits for its other half.
 */

import type { LiveText } from "@iolite/client";

import { applied, carried, type Difference, difference, hasHalf, inverse, moved, withoutHalves } from "./difference.js";
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
  /** The text when it was last looked at, and what leads to it from what is shown, one after the other. */
  #known = "";
  #unshown: readonly Difference[] = [];
  #value: string | undefined;
  #composes = false;
  /** The box holds half of a character, as old input methods hand over characters in two halves. */
  #holdsHalf = false;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(text: TypedText) {
    this.#text = text;
  }

  /** A box shows this text from now on, and nothing of another, until the function that comes back is called. */
  begin(box: Box): () => void {
    const heard: Record<string, () => void> = {
      input: () => this.#type(box.value),
      compositionstart: () => void (this.#composes = true),
      compositionend: () => this.#composed(),
      focusout: () => this.#leave(),
    };
    this.#box = box;
    box.value = this.#typed ?? this.#shown;
    Object.entries(heard).forEach(([event, hear]) => box.addEventListener(event, hear));
    return () => {
      const heldHalf = this.#holdsHalf;
      this.#giveUpHalf();
      Object.entries(heard).forEach(([event, hear]) => box.removeEventListener(event, hear));
      this.#box = undefined;
      if (heldHalf) {
        this.meet();
      }
    };
  }

  /** Writes what was typed, and shows what others wrote. What can never be written is told, and not shown any more. */
  meet(): void {
    clearTimeout(this.#again);
    if (this.#holdsHalf) {
      return;
    }
    const box = this.#box;
    if ((box === undefined && this.#typed === undefined) || !this.#look()) {
      return this.#loseTyped();
    }
    if (this.#typed !== undefined && !this.#write(this.#typed, box?.selectionStart ?? null)) {
      this.#again = setTimeout(() => this.meet(), AGAIN_MS);
      return;
    }
    this.#look();
    if (box !== undefined && !this.#composes) {
      this.#show(box);
    }
  }

  /** Neither the box nor the text is there any more. */
  #loseTyped(): void {
    if (this.#box === undefined && this.#typed !== undefined) {
      this.#typed = undefined;
      report(this.onError, new Error("what was typed could not be stored: its text is not here any more"));
    }
  }

  #type(whole: string): void {
    const isFirstHalf = hasHalf(whole) && !this.#holdsHalf;
    this.#typed = whole;
    if (isFirstHalf) {
      this.#holdsHalf = true;
      return;
    }
    this.#giveUpHalf();
    this.meet();
  }

  /** The other half has come, or does not come. */
  #giveUpHalf(): void {
    if (this.#holdsHalf && this.#typed !== undefined && hasHalf(this.#typed)) {
      this.#typed = withoutHalves(this.#typed);
      report(this.onError, new Error("half of a character was typed, which cannot be stored"));
    }
    this.#holdsHalf = false;
  }

  #composed(): void {
    this.#composes = false;
    this.meet();
  }

  #leave(): void {
    this.#text.leave?.();
    this.#giveUpHalf();
    this.#composed();
  }

  /** False while no text is there. While this tab takes the lead nothing new is known of it; nor if its row is gone, but then its value is another. */
  #look(): boolean {
    const { value, written } = this.#text;
    const text = written ?? (value === this.#value ? this.#known : value);
    this.#value = value;
    if (text !== undefined && text !== this.#known) {
      this.#unshown = [...this.#unshown, difference(this.#known, text)];
      this.#known = text;
    }
    return written !== undefined || value !== undefined;
  }

  /** False if it has to wait. */
  #write(whole: string, caret: number | null): boolean {
    const typed = difference(this.#shown, whole, caret ?? whole.length);
    let own = typed;
    const unshown = this.#unshown.map((other) => {
      const rest = carried(other, own, "behind");
      own = carried(own, other, "before");
      return rest;
    });
    try {
      const handle = this.#text.splice(own.at, own.removed, own.inserted);
      void follow(this.onError, handle).finally(() => this.meet());
      this.#known = applied(this.#known, own);
      this.#unshown = unshown;
    } catch (error) {
      if ((error as { code?: unknown }).code === "not-ready") {
        return false;
      }
      report(this.onError, error);
      this.#unshown = [inverse(this.#shown, typed), ...this.#unshown];
    }
    this.#shown = whole;
    this.#typed = undefined;
    return true;
  }

  #show(box: Box): void {
    if (this.#known !== box.value) {
      const { selectionStart, selectionEnd } = box;
      box.value = this.#known;
      // A box for an address or a number has no caret that one could ask for.
      if (selectionStart !== null && selectionEnd !== null) {
        const [start = 0, end = 0] = [selectionStart, selectionEnd].map((place) => this.#unshown.reduce((at, other) => moved(at, other), place));
        box.setSelectionRange(start, end);
      }
    }
    this.#shown = box.value;
    // A box may hold less than the text, such as no line ends of other systems.
    this.#unshown = this.#known === this.#shown ? [] : [difference(this.#shown, this.#known)];
    // What a form shows that is reset.
    box.defaultValue = this.#shown;
  }
}
