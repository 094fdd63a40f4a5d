/** What the core runs for a call of a mutator: its closure, with the arguments that were stored. */

import type { Mutator } from "../mutators.js";
import type { Closure } from "../transaction/runClosure.js";
import { decodeArguments } from "../arguments/stored.js";

/** `args`: in JSON. */
export function closureOfCall({ parser, run }: Mutator, args = "null"): Closure {
  return (tx) => {
    const given = decodeArguments(args);
    return run(tx, (parser === undefined ? given : parser.parse(given)) as never);
  };
}
