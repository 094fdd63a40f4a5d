/** A write whose end a test says. */

import { type MutationHandle, type MutationStatus, MutationError, type SettledStatus } from "@iolite/client";

export class FakeHandle implements MutationHandle {
  readonly id = "a write";
  status: MutationStatus = { state: "pending", durable: false, sent: false, wouldReject: undefined };
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  readonly #ended = new Promise<void>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  constructor() {
    this.#ended.catch(() => undefined);
  }

  until(): Promise<void> {
    return this.#ended;
  }

  cancel(): boolean {
    return false;
  }

  onChange(): () => void {
    return () => undefined;
  }

  end(status: SettledStatus): void {
    this.status = status;
    if (status.state === "confirmed" || status.state === "overruled") {
      this.#resolve();
    } else {
      this.#reject(new MutationError(status.state, status.reason));
    }
  }

  /** The client is closed before it ends. */
  giveUp(error: Error): void {
    this.#reject(error);
  }
}
