/**
 * One reactive transaction as a store that React can read while it renders.
 *
 * It begins at the first read, so that data which is on the device shows at the first render. React may render and never mount, and in
 * StrictMode it mounts twice: a store that nobody subscribes to ends a little later, and begins anew if it is subscribed to again.
 */

import type { Observation, Reactive } from "@iolite/client";

import type { ReactiveResult } from "./useReactive.js";

const LOADING = { data: undefined, isLoading: true, isUnavailable: false, error: undefined } as const;

export class ReactiveStore<T> {
  /** How long an observation lives without a subscriber. */
  static readonly idleMs = 1000;

  #observation: Observation<T> | undefined;
  #shown: Reactive<T> | undefined;
  #result: ReactiveResult<T> = LOADING;
  #subscribers = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** Without a way to begin, as there is no client, data is on its way for ever. */
  constructor(readonly begin: (() => Observation<T>) | undefined) {}

  readonly current = (): ReactiveResult<T> => {
    const state = this.#running()?.state;
    if (state === undefined) {
      return LOADING;
    }
    if (state !== this.#shown) {
      this.#shown = state;
      this.#result = resultOf(state);
    }
    return this.#result;
  };

  /** What a server renders, and so the first thing that a page shows which takes a server's HTML over: neither has the other's data. */
  readonly onServer = (): ReactiveResult<T> => LOADING;

  readonly subscribe = (changed: () => void): (() => void) => {
    this.#subscribers += 1;
    const stop = this.#running()?.onChange(changed);
    return () => {
      stop?.();
      this.#subscribers -= 1;
      this.#endWhenIdle();
    };
  };

  #running(): Observation<T> | undefined {
    if (this.#observation === undefined && this.begin !== undefined) {
      this.#observation = this.begin();
      this.#endWhenIdle();
    }
    return this.#observation;
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#subscribers === 0) {
        this.#observation?.stop();
        this.#observation = undefined;
      }
    }, ReactiveStore.idleMs);
    // In Node a pause that nobody waits for does not keep the process.
    (this.#idle as { unref?: () => void }).unref?.();
  }
}

function resultOf<T>(state: Reactive<T>): ReactiveResult<T> {
  return {
    data: state.data,
    isLoading: state.status === "loading",
    isUnavailable: state.status === "unavailable",
    error: state.error,
  };
}
