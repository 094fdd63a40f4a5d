/**
 * Runs a closure for the core.
 *
 * In development a run that is whole is done twice, the second time under another clock; both have to ask for the same and return the same.
 * The first one counts.
 */

import { isInstance, textOf } from "../arguments/checks.js";
import { Abort, IoliteError } from "../errors.js";
import type { Core } from "../wasm/iolite_wasm.js";
import type { TableBinding } from "./binding.js";
import { withShiftedClock } from "./clockShift.js";
import { areEqual } from "./equality.js";
import { Scope, type Trace } from "./scope.js";
import { transactionOf } from "./transaction.js";

/** Where closures run. */
export interface Stage {
  readonly core: Core;
  readonly tables: readonly TableBinding[];
  readonly development: boolean;
}

export type Closure = (tx: never) => unknown;

/** What came of a run. */
export type RunResult =
  /** Data was missing, so it does not count. */
  | { readonly ended: "stopped" }
  | { readonly ended: "returned"; readonly value: unknown }
  | { readonly ended: "aborted"; readonly error: Abort }
  | { readonly ended: "failed"; readonly error: Error };

/** Runs the closure that the core asked for, and tells the core how it ended. */
export function runClosure(stage: Stage, closure: Closure): RunResult {
  stage.core.begin();
  const result = runOnce(stage, closure);
  const checked = stage.development ? runAgain(stage, closure, result) : result;
  return finish(stage.core, checked.result);
}

/**
 * Runs a closure once for a peek that the core has begun, and ends it.
 *
 * @throws what the closure throws; if data was missing, code `not-held` instead.
 */
export function runPeek({ core, tables, development }: Stage, closure: Closure): unknown {
  const scope = new Scope(core, { traced: development });
  const result = outcomeOf(() => closure(transactionOf(scope, tables) as never));
  scope.end();
  core.endPeek();
  switch (result.ended) {
    case "returned":
      return result.value;
    case "aborted":
    case "failed":
      throw result.error;
    case "stopped":
      throw new Error("a peek that was stopped has ended already");
  }
}

/** Tells the core that the app does not have the closure that it asked for. */
export function refuseUnknown(core: Core): void {
  core.begin();
  core.finish("unknown", "");
}

interface TracedResult {
  readonly result: RunResult;
  readonly trace: Trace;
}

function runOnce({ core, tables, development }: Stage, closure: Closure): TracedResult {
  const scope = new Scope(core, { traced: development });
  const result = outcomeOf(() => closure(transactionOf(scope, tables) as never));
  const trace = scope.end();
  return { result: core.isStopped() ? { ended: "stopped" } : result, trace };
}

function outcomeOf(run: () => unknown): RunResult {
  try {
    const value = run();
    if (!isPromise(value)) {
      return { ended: "returned", value };
    }
    // What comes of the promise is of no interest, and must not be reported as unhandled.
    value.then(undefined, () => undefined);
    const message = "a closure returned a promise: it has to be synchronous, since reads never wait (leave out async and await)";
    return { ended: "failed", error: new IoliteError("not-synchronous", message) };
  } catch (thrown) {
    // What is thrown may be a proxy.
    if (isInstance(thrown, Abort)) {
      return { ended: "aborted", error: thrown };
    }
    return { ended: "failed", error: isInstance(thrown, Error) ? thrown : new Error(textOf(thrown)) };
  }
}

/** More than the core keeps of a reason. */
const MESSAGE_UNITS = 4096;

/** A part of an error as text. It may have a getter that throws, and be longer than the core's memory. */
function partOf<E>(error: E, part: keyof E): string {
  try {
    return textOf(error[part]).slice(0, MESSAGE_UNITS);
  } catch {
    return "something that has no text was thrown";
  }
}

function runAgain(stage: Stage, closure: Closure, first: TracedResult): TracedResult {
  if (first.result.ended !== "returned" && first.result.ended !== "aborted") {
    return first;
  }
  stage.core.beginAgain();
  const second = withShiftedClock(() => runOnce(stage, closure));
  const same = areEqual(first.trace, second.trace) && areEqual(plain(first.result), plain(second.result));
  return same ? first : { trace: first.trace, result: { ended: "failed", error: notRepeatable(first, second) } };
}

function plain(result: RunResult): unknown {
  return result.ended === "aborted" ? { ended: result.ended, reason: partOf(result.error, "reason") } : result;
}

function notRepeatable(first: TracedResult, second: TracedResult): Error {
  const place = first.trace.findIndex((call, index) => !areEqual(call, second.trace[index]));
  const what = place < 0 ? "what it returned or read last" : `its call ${place + 1}, ${String(first.trace[place]?.[0])}`;
  return new IoliteError(
    "not-repeatable",
    `a closure did not do the same when it ran twice; they differ in ${what}. ` +
      "It may use only its arguments and its transaction: tx.now(), tx.random() and tx.newId() " +
      "instead of Date, Math.random() and crypto, and no variables that it changes itself",
  );
}

function finish(core: Core, result: RunResult): RunResult {
  switch (result.ended) {
    case "stopped":
    case "returned":
      core.finish("returned", "");
      return result;
    case "aborted":
      core.finish("aborted", partOf(result.error, "reason"));
      return result;
    case "failed":
      core.finish("failed", partOf(result.error, "message"));
      return result;
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
