/** An answer that a client gives at once, as a component's data. */

import { IoliteError, shared } from "@iolite/client";
import { useCallback, useRef, useSyncExternalStore } from "react";

import { useClientIfAny } from "./provider.js";
import type { RegisteredClient } from "./register.js";

export interface HeldResult<T> {
  /** The answer: the same object while it is the same. Undefined while this device does not hold what is asked for, and after an error. */
  readonly data: T | undefined;
  /** Whether this device holds it, as of these views. What is observed or pinned is held, but for what `delivered` cannot tell yet. */
  readonly isHeld: boolean;
  /** The error that the closure threw, or that tells why the client cannot answer. */
  readonly error: Error | undefined;
}

interface Looked<T> {
  readonly client: unknown;
  readonly look: unknown;
  readonly number: number;
  readonly result: HeldResult<T>;
}

const NOT_HELD = { data: undefined, isHeld: false, error: undefined } as const;

/** Asks at each render, and again when a view shows something else. */
export function useHeld<T>(look: (client: RegisteredClient) => T): HeldResult<T> {
  const client = useClientIfAny();
  const last = useRef<Looked<T>>(undefined);
  const subscribe = useCallback((changed: () => void) => client?.onViewsChange(changed) ?? (() => undefined), [client]);
  const current = (): HeldResult<T> => {
    if (client === undefined) {
      return NOT_HELD;
    }
    const number = client.viewsNumber;
    const before = last.current;
    if (before?.client !== client || before.look !== look || before.number !== number) {
      last.current = { client, look, number, result: same(before?.result, answerOf(() => look(client))) };
    }
    return last.current?.result ?? NOT_HELD;
  };
  return useSyncExternalStore<HeldResult<T>>(subscribe, current, () => NOT_HELD);
}

function answerOf<T>(look: () => T): HeldResult<T> {
  try {
    return { data: look(), isHeld: true, error: undefined };
  } catch (thrown) {
    if (thrown instanceof IoliteError && thrown.code === "not-held") {
      return NOT_HELD;
    }
    return { data: undefined, isHeld: true, error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }
}

/** The result before, if it says the same. */
function same<T>(before: HeldResult<T> | undefined, next: HeldResult<T>): HeldResult<T> {
  if (before === undefined || before.isHeld !== next.isHeld || before.error?.message !== next.error?.message) {
    return next;
  }
  const data = shared(before.data, next.data) as T | undefined;
  return Object.is(data, before.data) ? before : { ...next, data };
}
