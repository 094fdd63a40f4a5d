/** One call of a mutator. */

import { wordOf } from "../arguments/checks.js";
import { IoliteError, MutationError } from "../errors.js";
import type { Notifier } from "./notifier.js";
import type { MutationHandle, MutationId, MutationStatus, SettledStatus, Stop } from "./types.js";
import { Watched } from "./watched.js";

const STAGES = ["durable", "confirmed", "delivered"] as const;

interface Waiting {
  readonly stage: "durable" | "confirmed" | "delivered";
  resolve(): void;
  reject(error: Error): void;
}

export class Handle implements MutationHandle {
  readonly id: MutationId;
  readonly #cancel: () => boolean;
  readonly #watched: Watched<MutationStatus>;
  #status: MutationStatus = { state: "pending", durable: false, sent: false, wouldReject: undefined };
  #error: Error | undefined;
  #takenBack = false;
  #waiting: Waiting[] = [];
  /** Why nobody will hear of it any more. */
  #givenUp: Error | undefined;

  /** Why nobody is followed until it is delivered. */
  #unfollowed: string | undefined;

  constructor(id: MutationId, notifier: Notifier, cancel: () => boolean, unfollowed: string | undefined) {
    this.id = id;
    this.#unfollowed = unfollowed;
    this.#cancel = cancel;
    this.#watched = new Watched(notifier, () => this.#status);
  }

  get status(): MutationStatus {
    return this.#status;
  }

  until(stage: "durable" | "confirmed" | "delivered"): Promise<void> {
    const promise = new Promise<void>((resolve, reject) => {
      wordOf(stage, STAGES, "call", "the stage");
      this.#waiting.push({ stage, resolve, reject });
    });
    // Nobody has to handle it: what was refused is listed by the client too.
    promise.catch(() => undefined);
    this.#settle();
    return promise;
  }

  cancel(): boolean {
    const asked = this.#cancel();
    this.#takenBack ||= asked;
    return asked;
  }

  /** Whether the app itself asked for it to be cancelled. */
  get takenBack(): boolean {
    return this.#takenBack;
  }

  onChange(callback: (status: MutationStatus) => void): Stop {
    return this.#watched.onChange(callback);
  }

  /** It got on, or ended. `error`: what its closure threw last. */
  become(status: MutationStatus, error: Error | undefined): void {
    this.#status = status;
    this.#error = error;
    this.#watched.invalidate();
    this.#settle();
  }

  /** Everybody who follows it has applied it. */
  delivered(): void {
    this.become({ state: "confirmed", delivered: true }, undefined);
  }

  /** Whether it is heard when it is delivered. */
  get isFollowed(): boolean {
    return this.#unfollowed === undefined;
  }

  /** Ends the wait for delivery: nobody will hear of it. */
  unfollow(reason: string): void {
    this.#unfollowed = reason;
    this.#settle();
  }

  /** Nobody will hear of it any more. What is durable is sent by the next client of this device. */
  giveUp(error: Error): void {
    this.#givenUp = error;
    this.#settle();
  }

  #settle(): void {
    const status = this.#status;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      if (status.state === "confirmed" && each.stage === "delivered" && status.delivered === undefined) {
        if (this.#unfollowed !== undefined) {
          each.reject(new IoliteError("transaction", this.#unfollowed));
        } else {
          this.#waiting.push(each);
        }
      } else if (status.state === "confirmed" || status.state === "overruled" || (status.state === "pending" && status.durable && each.stage === "durable")) {
        each.resolve();
      } else if (status.state !== "pending") {
        each.reject(errorOf(status, this.#error));
      } else if (this.#givenUp !== undefined) {
        each.reject(this.#givenUp);
      } else {
        this.#waiting.push(each);
      }
    }
  }
}

export function errorOf(status: Exclude<SettledStatus, { readonly state: "confirmed" | "overruled" }>, cause: Error | undefined): MutationError {
  return new MutationError(status.state, status.reason, cause === undefined ? undefined : { cause });
}
