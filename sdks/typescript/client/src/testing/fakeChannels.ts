/** Channels between the tabs of a test: messages are copied, come later, and in order. */

import type { Channel } from "../platform/platform.js";

interface End {
  readonly name: string;
  /** The messages that came while it stood still; undefined while it runs. */
  asleep: unknown[] | undefined;
  received(message: unknown): void;
}

export class FakeChannels {
  readonly #ends = new Set<End>();
  /** Messages are lost while this is set. */
  deaf = false;

  /** The tab that opened so many before it stands still; the function that comes back wakes it. */
  standStill(tab: number): () => void {
    const end = [...this.#ends][tab] as End;
    end.asleep = [];
    return () => {
      const missed = end.asleep ?? [];
      end.asleep = undefined;
      missed.forEach((message) => end.received(message));
    };
  }

  readonly open = (name: string, received: (message: unknown) => void): Channel => {
    const own: End = { name, received, asleep: undefined };
    this.#ends.add(own);
    return {
      post: (message) => {
        const others = [...this.#ends].filter((end) => end !== own && end.name === name);
        const copy = structuredClone(message);
        if (!this.deaf) {
          setImmediate(() => others.filter((end) => this.#ends.has(end)).forEach((end) => (end.asleep === undefined ? end.received(copy) : end.asleep.push(copy))));
        }
      },
      close: () => void this.#ends.delete(own),
    };
  };
}
