/** Who hears what cannot be written. */

import type { MutationHandle } from "@iolite/client";

export type OnError = (error: Error) => void;

/** Writes, and tells once why that cannot be: at once, or when the write ends without effect. */
export function tell(onError: OnError | undefined, write: () => MutationHandle): void {
  try {
    void follow(onError, write());
  } catch (error) {
    report(onError, error);
  }
}

/** Resolves when a write has ended, and tells why if that was without effect. */
export async function follow(onError: OnError | undefined, handle: MutationHandle): Promise<void> {
  try {
    await handle.until("confirmed");
  } catch (error) {
    // What is pending still when the client is closed was not refused.
    if (handle.status.state !== "pending") {
      report(onError, error);
    }
  }
}

/** Without anybody who wants to hear it, an error is one of the page that nobody caught, as those of the client's callbacks are. */
export function report(onError: OnError | undefined, error: unknown): void {
  if (onError !== undefined) {
    return onError(error as Error);
  }
  queueMicrotask(() => {
    throw error;
  });
}
