/** One mutation as a tab knows it, from its call or from the core's list to its end. */

import type { Handle } from "./handle.js";
import type { OpenTransaction } from "./openTransaction.js";
import type { MutationId } from "./types.js";

export interface KnownMutation {
  readonly id: MutationId;
  /** Undefined for a closure. */
  readonly name: string | undefined;
  /** In JSON; undefined for a closure. */
  readonly args: string | undefined;
  readonly call: OwnCall | undefined;
  /** Of this tab's own calls. */
  handle: Handle | undefined;
  transaction: OpenTransaction | undefined;
  /** What its closure threw last. */
  error: Error | undefined;
}

/** A named call of this tab. Its ticket names it for whichever tab leads. */
export interface OwnCall {
  readonly ticket: string;
  /** The operation of a log that it is. */
  readonly log: LogOfCall | undefined;
  /** Milliseconds since 1970. */
  readonly calledAt: number;
  /** `kept`: no core has it yet. `called`: it is on its way to the disk. `stored`: it is there, in the outbox or in the queue. */
  stage: "kept" | "called" | "stored";
  /** The counter, once it is queued. Each leader may give it another one. */
  counter: number | undefined;
  wish: "keep" | "takeBack";
}

/** The operation, and the log, that a call is of. */
export interface LogOfCall {
  readonly name: string;
  readonly instance: unknown;
  readonly operation: string;
}
