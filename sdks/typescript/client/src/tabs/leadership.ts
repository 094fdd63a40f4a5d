/** Which of several tabs holds the connection and the storage: the one with the Web Lock. */

export interface Leadership {
  /** Resolves once this tab leads: at once, or when the one before it has closed. Never after `release`. */
  readonly won: Promise<void>;
  /** Whether another tab leads. */
  readonly isWaiting: boolean;
  /** Gives the lock back, or stops waiting for it. */
  release(): void;
}

/** For a tab that shares nothing with others. */
export const ALONE: Leadership = { won: Promise.resolve(), isWaiting: false, release: () => undefined };

export async function seekLeadership(locks: Pick<LockManager, "request">, name: string): Promise<Leadership> {
  const held = deferred();
  const first = await new Promise<"won" | "taken">((resolve, reject) => {
    locks
      .request(name, { ifAvailable: true }, (lock) => {
        resolve(lock === null ? "taken" : "won");
        return lock === null ? undefined : held.promise;
      })
      .catch(reject);
  });
  if (first === "won") {
    return { won: Promise.resolve(), isWaiting: false, release: held.resolve };
  }
  return waitFor(locks, name, held);
}

function waitFor(locks: Pick<LockManager, "request">, name: string, held: Deferred): Leadership {
  const won = deferred();
  const waiting = new AbortController();
  const lead = (): Promise<void> => {
    won.resolve();
    return held.promise;
  };
  // It rejects when the wait is aborted, which is what was asked for.
  locks.request(name, { signal: waiting.signal }, lead).catch(() => undefined);
  const release = (): void => {
    waiting.abort();
    held.resolve();
  };
  return { won: won.promise, isWaiting: true, release };
}

interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
}

function deferred(): Deferred {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve: () => resolve() };
}
