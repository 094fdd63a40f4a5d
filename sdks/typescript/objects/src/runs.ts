/**
 * The run of a method, for what the method does: its context, and the calls that it makes.
 *
 * A call from inside of a method carries the run, so that a cycle of objects that wait for each other is found. Node follows a run through everything that is
 * awaited. Browsers cannot: there a run is known until the method first awaits. After it, a reference tells where it was seen: an argument or a result of a call
 * belongs to one run, and what an object keeps belongs to the only run that the object has.
 */

import type { ObjectHost } from "./host/types.js";
import type { RefTarget } from "./refs.js";

/** The call that a method runs for, as far as the method is told of it. */
export interface Context {
  /** The user for whom the method runs. The server at which the call entered writes it. */
  readonly caller: string;
  readonly className: string;
  readonly id: string;
  /** The host of the object, for finding and creating others. */
  readonly host: ObjectHost;
}

/** A run of a method. */
export interface Run {
  /** The kernel's number. */
  readonly number: number;
  readonly context: Context;
  readonly instance: Instance;
  ended: boolean;
}

/** An object that is here. */
export interface Instance {
  readonly object: object;
  /** Reads may run side by side. */
  readonly runs: Set<Run>;
}

/** Where a reference was seen. */
export interface Place {
  readonly instance: Instance;
  /** None: the object keeps it. */
  readonly run: Run | undefined;
}

/** Knows which run is going on. */
export interface RunScope {
  /** Whether it knows the run also after the method has awaited something. */
  readonly followsAwaits: boolean;
  within<T>(run: Run, act: () => T): T;
  current(): Run | undefined;
}

/** The run that a call belongs to, if any. A run of another host is none: its number means nothing here. */
export function runOfCall({ place, caller }: RefTarget, scope: RunScope): Run | undefined {
  const current = scope.current();
  const [run] = [current, ...(scope.followsAwaits ? [] : seenBy(place))].filter((one) => one !== undefined && !one.ended);
  return run !== undefined && (run.context.host as unknown) === caller ? run : undefined;
}

function seenBy(place: Place | undefined): (Run | undefined)[] {
  const [only, ...others] = place?.instance.runs ?? [];
  return [place?.run, others.length === 0 ? only : undefined];
}

/** The run of a method by a variable: it is known until the method first awaits. */
export class VariableScope implements RunScope {
  readonly followsAwaits = false;
  #current: Run | undefined;

  within<T>(run: Run, act: () => T): T {
    const before = this.#current;
    this.#current = run;
    try {
      return act();
    } finally {
      this.#current = before;
    }
  }

  current(): Run | undefined {
    return this.#current;
  }
}
