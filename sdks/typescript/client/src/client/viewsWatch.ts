/** Tells the app that a view may show something else: that `peek` and `difference` may give another answer. */

import { functionOf } from "../arguments/checks.js";
import type { Notifier } from "./notifier.js";
import type { Stop } from "./types.js";
import { Watched } from "./watched.js";

export class ViewsWatch {
  #number = 0;
  #told = 0;
  readonly #watched: Watched<number>;

  constructor(notifier: Notifier) {
    this.#watched = new Watched(notifier, () => this.#number);
  }

  /** Another number after each change. */
  get number(): number {
    return this.#number;
  }

  changed(): void {
    this.#number += 1;
  }

  /** Tells the listeners of what changed since they were last told. */
  tell(): void {
    if (this.#told !== this.#number) {
      this.#told = this.#number;
      this.#watched.invalidate();
    }
  }

  onChange(callback: () => void): Stop {
    functionOf(callback, "call", "the callback");
    return this.#watched.onChange(() => callback());
  }
}
