/** A value that the app may watch. It is computed when it is asked for after a change, and stays the same object until the next. */

import { callBack, type Notifier } from "./notifier.js";
import type { Stop } from "./types.js";

export class Watched<T> {
  readonly #notifier: Notifier;
  readonly #compute: () => T;
  readonly #callbacks = new Set<(value: T) => void>();
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
    // Its own function, so that one callback may be given twice.
    const own = (value: T): void => callback(value);
    this.#callbacks.add(own);
    return () => void this.#callbacks.delete(own);
  }

  /** Nobody is called any more, whatever is on its way. */
  end(): void {
    this.#callbacks.clear();
  }

  readonly #deliver = (): void => {
    for (const callback of this.#callbacks) {
      callBack(callback, this.value);
    }
  };
}
