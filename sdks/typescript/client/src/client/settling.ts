/** Waits until what was called in a tab shows. */

import type { CoreHost } from "./coreHost.js";
import type { MutationBook } from "./mutationBook.js";

/** The part of a seat that is needed. */
interface Place {
  readonly host: CoreHost | undefined;
  readonly book: MutationBook;
  /** @throws when there will be no core any more. */
  checkUsable(): void;
  /** @throws while nobody answers what is called here. */
  checkAnswered(): void;
}

export class Settling {
  readonly #place: Place;
  #waiting: (() => void)[] = [];

  constructor(place: Place) {
    this.#place = place;
  }

  /** Resolves when reactions have run on all that was called. Those that can run now run before this returns. */
  async settled(): Promise<void> {
    this.#place.checkUsable();
    this.#place.host?.react();
    while (this.#place.host === undefined || this.#place.book.hasUnanswered) {
      this.#place.checkAnswered();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#place.checkUsable();
      this.#place.host?.react();
    }
  }

  /** A call may have got on, there may be another core, or there will be none any more. */
  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((resolve) => resolve());
  }
}
