/** The context of a method that runs. */

import { platform } from "#platform";

import type { Context } from "./runs.js";

/**
 * The context of the method that runs: `const { caller, id } = context()`.
 *
 * In Node it can be asked for anywhere in the method. In a page it has to be asked for before the method first awaits.
 *
 * @throws Error outside of a method.
 */
export function context(): Context {
  const run = platform.scope.current();
  if (run === undefined) {
    const hint = platform.scope.followsAwaits ? "" : " Call it before the method's first await, and keep what it gives";
    throw new Error(`context() is for methods of objects while they run.${hint}`);
  }
  return run.context;
}
