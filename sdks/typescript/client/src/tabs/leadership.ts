/**
 * Which of several tabs holds the connection and the storage: the one with the Web Lock. A tab that stands still cannot give it back, so it can be
 * taken from it; that tab finds out when it wakes.
 */

import { type Deferred, deferred } from "./deferred.js";

export interface Leadership {
  /** Resolves once this tab leads: at once, or when the one before it has closed, or was robbed. Never after `release`. */
  readonly won: Promise<void>;
  /** Resolves when another tab has taken the lead from this one. */
  readonly robbed: Promise<void>;
  /** Whether another tab leads. */
  readonly isWaiting: boolean;
  /** Whether it was taken from a tab that stands still. */
  readonly isTaken: boolean;
  /** Takes the lead from the tab that has it, instead of waiting for it. */
  take(): void;
  /** Gives the lock back, or stops waiting for it. */
  release(): void;
}

/** For a tab that shares nothing with others. */
export const ALONE: Leadership = {
  won: Promise.resolve(),
  robbed: new Promise(() => undefined),
  isWaiting: false,
  isTaken: false,
  take: () => undefined,
  release: () => undefined,
};

type Locks = Pick<LockManager, "request">;

export async function seekLeadership(locks: Locks, name: string): Promise<Leadership> {
  const [held, robbed] = [deferred(), deferred()];
  const first = await new Promise<"won" | "taken">((resolve, reject) => {
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        resolve(lock === null ? "taken" : "won");
        return lock === null ? undefined : held.promise;
      })
      .catch((error: unknown) => {
        // It comes to an end also when another tab takes it.
        robbed.resolve();
        reject(error instanceof Error ? error : new Error(String(error)));
      });
  });
  if (first === "won") {
    return { won: Promise.resolve(), robbed: robbed.promise, isWaiting: false, isTaken: false, take: () => undefined, release: held.resolve };
  }
  return waitFor(locks, name, held, robbed);
}

function waitFor(locks: Locks, name: string, held: Deferred, robbed: Deferred): Leadership {
  const won = deferred();
  const queue = new AbortController();
  let asked: "queue" | "both" | "nothing" = "queue";
  let by: "queue" | "theft" | undefined;
  const request = (how: "queue" | "theft", options: LockOptions): void => {
    const lead = (): Promise<void> => {
      if (asked === "nothing") {
        return held.promise;
      }
      by = how;
      won.resolve();
      return held.promise;
    };
    // It rejects when the place in the queue is given up, which is what was asked for, and when the lock is taken from this tab.
    locks.request(name, options, lead).catch(() => by === how && robbed.resolve());
  };
  request("queue", { signal: queue.signal });
  return {
    won: won.promise,
    robbed: robbed.promise,
    isWaiting: true,
    get isTaken() {
      return by === "theft";
    },
    take: () => {
      if (asked === "queue" && by === undefined) {
        asked = "both";
        request("theft", { steal: true });
        void won.promise.then(() => queue.abort());
      }
    },
    release: () => {
      asked = "nothing";
      queue.abort();
      held.resolve();
    },
  };
}
