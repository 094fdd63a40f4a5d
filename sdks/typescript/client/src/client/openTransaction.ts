/**
 * A closure without a name, and who waits for what it returns.
 *
 * Invariant: what an attempt returned is kept until it is known which attempt took effect. That need not be the last one: a closure may
 * have run again while an earlier attempt was on its way.
 */

import type { Closure } from "../transaction/runClosure.js";

export class OpenTransaction {
  readonly closure: Closure;
  /** Resolves to what the attempt returned that took effect. */
  readonly result: Promise<unknown>;
  #resolve: (value: unknown) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #last: { readonly value: unknown } | undefined;
  /** What was returned, with the first attempt that was submitted with it, in order. */
  readonly #submitted: { readonly attempt: number; readonly value: unknown }[] = [];

  constructor(closure: Closure) {
    this.closure = closure;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** It ran to its end. */
  returned(value: unknown): void {
    this.#last = { value };
  }

  /** So many attempts were submitted by now, the last one with what the last run returned. */
  submitted(attempts: number): void {
    const known = this.#submitted.at(-1)?.attempt ?? 0;
    if (attempts > known && this.#last !== undefined) {
      this.#submitted.push({ attempt: attempts, value: this.#last.value });
      this.#last = undefined;
    }
  }

  tookEffect(attempt: number): void {
    const own = this.#submitted.filter((each) => each.attempt <= attempt).at(-1);
    if (own === undefined) {
      this.#reject(new Error("the server committed an attempt that this client never made"));
    } else {
      this.#resolve(own.value);
    }
  }

  failed(error: Error): void {
    this.#reject(error);
  }
}
