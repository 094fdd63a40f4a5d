/** One reactive transaction, whether the core knows it already or not. */

import { IoliteError } from "../errors.js";
import { shared } from "../transaction/equality.js";
import type { Closure, RunResult } from "../transaction/runClosure.js";
import type { Notifier } from "./notifier.js";
import type { Observation, Reactive, Stop, View } from "./types.js";
import { Watched } from "./watched.js";

export class OneObservation implements Observation<unknown> {
  /** The core's number for it; undefined while there is no core. */
  reaction: number | undefined;
  readonly closure: Closure;
  readonly view: View;
  readonly #watched: Watched<Reactive<unknown>>;
  readonly #ended: (observation: OneObservation) => void;
  #state: Reactive<unknown> = { status: "loading", data: undefined, error: undefined };
  #failure: Error | undefined;
  /** Whose data the state shows: while a core has not got it yet, that of the one before stays. */
  #shown: "own" | "carried" = "own";

  constructor(closure: Closure, view: View, notifier: Notifier, ended: (observation: OneObservation) => void) {
    this.closure = closure;
    this.view = view;
    this.#ended = ended;
    this.#watched = new Watched(notifier, () => this.#state);
  }

  get state(): Reactive<unknown> {
    return this.#state;
  }

  onChange(callback: (state: Reactive<unknown>) => void): Stop {
    return this.#watched.onChange(callback);
  }

  stop(): void {
    this.#watched.end();
    this.#ended(this);
  }

  /** Another core, or another leader, goes on with it. */
  carryOver(): void {
    this.#shown = "carried";
  }

  /** Its closure ran. */
  ran(result: RunResult): void {
    switch (result.ended) {
      case "returned":
        this.#shown = "own";
        this.#become({ status: "ready", data: shared(this.#state.data, result.value), error: undefined });
        break;
      case "stopped":
        if (this.#isCarried) {
          break;
        }
        this.#become({ status: "loading", data: this.#state.data, error: undefined });
        break;
      case "aborted":
      case "failed":
        // The core says next whether that counts.
        this.#failure = result.error;
        break;
    }
  }

  /** The core says that it failed. */
  failed(message: string): void {
    this.#shown = "own";
    const error = this.#failure ?? new IoliteError("failed", message);
    this.#failure = undefined;
    this.#become({ status: "failed", data: this.#state.data, error });
  }

  /** There will be no core any more: what is shown stays, and what is missing will never come. */
  giveUp(error: Error): void {
    if (this.#state.status === "loading") {
      this.#become({ status: "failed", data: this.#state.data, error });
    }
  }

  /** Missing data cannot come, or can come again. */
  reachable(reachable: boolean): void {
    const [from, to] = reachable ? (["unavailable", "loading"] as const) : (["loading", "unavailable"] as const);
    if (this.#state.status === from || (this.#isCarried && !reachable)) {
      this.#shown = "own";
      this.#become({ status: to, data: this.#state.data, error: undefined });
    }
  }

  get #isCarried(): boolean {
    return this.#shown === "carried" && this.#state.status === "ready";
  }

  #become(state: Reactive<unknown>): void {
    if (state.status === this.#state.status && state.data === this.#state.data && state.error === this.#state.error) {
      return;
    }
    this.#state = state;
    this.#watched.invalidate();
  }
}
