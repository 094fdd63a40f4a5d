/** A value that the app may watch. It is computed when it is asked for after a change, and stays the same object until the next. */

import { Listeners } from "./listeners.js";
import type { Notifier } from "./notifier.js";
import type { Stop } from "./types.js";

export class Watched<T> {
  readonly #notifier: Notifier;
  readonly #compute: () => T;
  readonly #listeners = new Listeners<T>();
  #current: { readonly value: T } | undefined;

  constructor(notifier: Notifier, compute: () => T) {
    this.#notifier = notifier;
    this.#compute = compute;
  }

  get value(): T {
    this.#current ??= { value: this.#compute() };
    return this.#current.value;
  }

  /** The value may be another one now. */
  invalidate(): void {
    this.#current = undefined;
    this.#notifier.add(this.#deliver);
  }

  onChange(callback: (value: T) => void): Stop {
    return this.#listeners.add(callback);
  }

  /** Nobody is called any more, whatever is on its way. */
  end(): void {
    this.#listeners.clear();
  }

  readonly #deliver = (): void => {
    this.#listeners.deliver(() => this.value);
  };
}
