/**
 * The app's functions that hear of one thing.
 *
 * Invariant: a delivery calls those that listened when it began and still do. One that is added meanwhile hears the next delivery, one that was removed
 * hears nothing, and one that throws keeps nobody from being called.
 */

import { functionOf } from "../arguments/checks.js";
import type { Stop } from "./types.js";

type Listener<T> = (value: T) => void;

export class Listeners<T> {
  /** By numbers, so that one function may be given twice. */
  readonly #byNumber = new Map<number, Listener<T>>();
  #last = 0;

  /** @throws code `call` for what is no function. */
  add(callback: Listener<T>): Stop {
    functionOf(callback, "call", "the callback");
    const number = (this.#last += 1);
    this.#byNumber.set(number, callback);
    return () => void this.#byNumber.delete(number);
  }

  /** `value` is asked before each call, as one of them may change it. */
  deliver(value: () => T): void {
    for (const [number, callback] of [...this.#byNumber]) {
      if (this.#byNumber.has(number)) {
        callBack(callback, value);
      }
    }
  }

  /** Removes all: no one is called any more, whatever is on its way. */
  clear(): void {
    this.#byNumber.clear();
  }
}

/** Reports as uncaught what a callback throws. */
function callBack<T>(callback: Listener<T>, value: () => T): void {
  try {
    callback(value());
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
