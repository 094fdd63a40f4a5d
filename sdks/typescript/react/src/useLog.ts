/**
 * A log, joined for a component.
 *
 * Invariant: a component that is shown again, or twice at once, works on the same log: joining what is joined finds it.
 */

import { type InstanceOf, IoliteError, type Log, type LogDefinition } from "@iolite/client";
import { useCallback, useEffect, useState } from "react";

import { useClientIfAny } from "./provider.js";

type AnyTables = LogDefinition["tables"];

export interface LogOptions {
  /** Leaves the log when the component goes, unless operations are pending then. Only where no other component shows the same log. */
  readonly leaveOnUnmount?: boolean;
}

export interface LogResult<O> {
  /** The log once it is joined: the same object at every render. Until then its tables cannot be read. */
  readonly log: Log<O> | undefined;
  /** Why nothing more of it is replayed here, if it is so: an operation that this version of the app does not know. */
  readonly stopped: string | undefined;
  /** Why it is not joined. With code `not-leading` another tab leads; the log is joined when this one does. */
  readonly error: Error | undefined;
}

interface Joined<O> extends LogResult<O> {
  readonly of: readonly [client: unknown, definition: unknown, instance: unknown];
}

const NOT_JOINED = { log: undefined, stopped: undefined, error: undefined } as const;

/**
 * Joins a log when the component is first shown, and goes on to when another `instance` is given. `instance`: the value of the first column of its tables' keys.
 * The log stays joined when the component goes, unless `leaveOnUnmount` is set.
 */
export function useLog<T extends AnyTables, O>(
  definition: LogDefinition<T, O>,
  instance: InstanceOf<T>,
  { leaveOnUnmount = false }: LogOptions = {},
): LogResult<O> {
  const client = useClientIfAny();
  const [joined, setJoined] = useState<Joined<O>>();
  const join = useCallback(
    (): LogResult<O> => {
      if (client === undefined) {
        return NOT_JOINED;
      }
      try {
        const log: Log<O> = client.log(definition, instance);
        return { log, stopped: log.stopped, error: undefined };
      } catch (thrown) {
        return { ...NOT_JOINED, error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
      }
    },
    [client, definition, instance],
  );
  useEffect(() => {
    if (client === undefined) {
      return;
    }
    const of = [client, definition, instance] as const;
    let result: LogResult<O> = NOT_JOINED;
    let unwatch = (): void => undefined;
    const show = (next: LogResult<O>): void => {
      result = next;
      setJoined({ ...next, of });
    };
    const tryIt = (): void => {
      if (result.log !== undefined) {
        return;
      }
      const next = join();
      const { log } = next;
      unwatch = log === undefined ? unwatch : log.onStopped((stopped) => show({ ...next, stopped }));
      show(next);
    };
    tryIt();
    // Another tab may lead now, or this one.
    const unlisten = client.onConnectionChange(tryIt);
    return () => {
      unlisten();
      unwatch();
      if (leaveOnUnmount) {
        leave(result.log);
      }
    };
  }, [client, definition, instance, join, leaveOnUnmount]);
  const isOf = ([ofClient, ofDefinition, ofInstance]: Joined<O>["of"]): boolean =>
    ofClient === client && ofDefinition === definition && ofInstance === instance;
  return joined !== undefined && isOf(joined.of) ? joined : NOT_JOINED;
}

/** An operation that is pending keeps it joined; so does a client that works no more. */
function leave(log: Log | undefined): void {
  try {
    log?.leave();
  } catch (thrown) {
    if (!(thrown instanceof IoliteError)) {
      throw thrown;
    }
  }
}
