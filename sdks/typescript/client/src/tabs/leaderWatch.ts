/**
 * Watches, in a tab that follows, whether the tab that leads still runs: asks it by message, which is answered also in a hidden page, where timers are held back.
 *
 * Invariant: a leader is called still only after several questions in a row without an answer, with time for each. So a tab that itself stood still for long asks anew first.
 */

export interface Patience {
  /** Milliseconds between two questions. */
  readonly askMs: number;
  /** Questions in a row without an answer; then the leader stands still. */
  readonly unanswered: number;
}

/** A leader that stands still is noticed after 6 to 8 s. */
export const PATIENCE: Patience = { askMs: 2000, unanswered: 3 };

export interface LeaderWatchEvents {
  /** Asks the leader; `heard` is called when it answers. */
  ask(): void;
  standsStill(): void;
}

export class LeaderWatch {
  readonly #patience: Patience;
  readonly #events: LeaderWatchEvents;
  readonly #timer: ReturnType<typeof setInterval>;
  #unanswered = 0;

  constructor(patience: Patience, events: LeaderWatchEvents) {
    this.#patience = patience;
    this.#events = events;
    this.#timer = setInterval(() => this.#tick(), patience.askMs);
  }

  /** The leader runs, or another tab is about to take its place. */
  heard(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (this.#unanswered >= this.#patience.unanswered) {
      this.#unanswered = 0;
      this.#events.standsStill();
      return;
    }
    this.#unanswered += 1;
    this.#events.ask();
  }
}
