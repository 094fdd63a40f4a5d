/**
 * A value that is a text, to be typed into. Each time all of it is written.
 *
 * Invariant: what was typed counts as the text until the value is that, or the write has ended.
 */

import type { LiveScalar, MutationHandle } from "@iolite/client";

import type { TypedText } from "./typing.js";

interface Typed {
  readonly text: string;
  readonly handle: MutationHandle;
}

export class WholeText implements TypedText {
  readonly #live: LiveScalar<string>;
  /** In a tab that follows it takes some milliseconds until the value is that. */
  #typed: Typed | undefined;

  constructor(live: LiveScalar<string>) {
    this.#live = live;
  }

  get value(): string | undefined {
    return this.#live.value;
  }

  get written(): string | undefined {
    const { value } = this.#live;
    if (this.#typed?.text === value || this.#typed?.handle.status.state !== "pending") {
      this.#typed = undefined;
    }
    return this.#typed?.text ?? value;
  }

  splice(at: number, removed: number, inserted: string): MutationHandle {
    const before = this.written ?? "";
    const text = before.slice(0, at) + inserted + before.slice(at + removed);
    const handle = this.#live.set(text);
    this.#typed = { text, handle };
    return handle;
  }

  leave(): void {
    this.#typed = undefined;
  }
}
