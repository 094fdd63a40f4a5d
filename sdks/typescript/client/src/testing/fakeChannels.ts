/** Channels between the tabs of a test: messages are copied, come later, and in order. */

import type { Channel } from "../platform/platform.js";

interface End {
  readonly name: string;
  received(message: unknown): void;
}

export class FakeChannels {
  readonly #ends = new Set<End>();
  /** Messages are lost while this is set. */
  deaf = false;

  readonly open = (name: string, received: (message: unknown) => void): Channel => {
    const own: End = { name, received };
    this.#ends.add(own);
    return {
      post: (message) => {
        const others = [...this.#ends].filter((end) => end !== own && end.name === name);
        const copy = structuredClone(message);
        if (!this.deaf) {
          setImmediate(() => others.filter((end) => this.#ends.has(end)).forEach((end) => end.received(copy)));
        }
      },
      close: () => void this.#ends.delete(own),
    };
  };
}
