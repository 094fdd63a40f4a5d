/**
 * A tab has another core, as it leads now or follows again: what becomes of what was called and dismissed in it before, as docs/protocols/tabs.md has it.
 *
 * Invariant: a call that was stored is never made again; one that was not is made once.
 */

import type { CoreHost } from "./coreHost.js";
import type { KnownMutation, OwnCall } from "./knownMutation.js";
import type { FollowerHost } from "./followerHost.js";
import type { LeaderHost } from "./leaderHost.js";
import type { MutationBook } from "./mutationBook.js";
import { type CallStatus, readCallStatus } from "./outputs.js";
import type { Core } from "../wasm/iolite_wasm.js";

/** Tells what was dismissed, and follows the calls of a book on, in their order. The caller drains. */
export function takeOverCalls(book: MutationBook, host: LeaderHost): void {
  tellDismissed(book, host);
  for (const known of book.calls) {
    book.callBecame(known.call.ticket, known.call.stage === "stored" ? statusOf(known.call, host) : made(known, host));
    if (known.call.wish === "takeBack") {
      takeBack(known.call, host);
    }
  }
}

/**
 * Goes on, in a core that follows, with the calls of a book: those that are known to be stored are asked about, the others are stored. A leader that has one already
 * recognises it. The caller drains.
 */
export function callAgain(book: MutationBook, host: FollowerHost): void {
  for (const { name = "", args = "null", call } of book.calls) {
    const { ticket, log, stage, calledAt, wish } = call;
    host.callOnly((core) => core.callAgain(ticket, name, args, log?.name, log?.instance, stage === "stored", calledAt));
    call.stage = stage === "stored" ? stage : "called";
    if (wish === "takeBack") {
      host.callOnly((core) => core.takeBack(ticket));
    }
  }
}

/** What was dismissed here, and is listed still. The caller drains. */
export function tellDismissed(book: MutationBook, host: CoreHost): void {
  book.dismissed.forEach((counter) => host.callOnly((core) => core.dismiss(counter)));
}

export const TAKEN_BACK: CallStatus = { state: "ended", status: { state: "cancelled", reason: "taken back" } };

/** The core has found it in the outbox or in the queue, or it has ended. */
function statusOf({ ticket }: OwnCall, host: LeaderHost): CallStatus {
  return readCallStatus(host.callOnly((core) => core.callStatus(ticket)));
}

/**
 * It is not known to be stored: it was called while no core was there, or could not be written. If it is stored all the same, it is not made again. One that is
 * wished back is made too, and then taken back by who knows of it.
 */
function made({ name = "", args = "null", call }: KnownMutation & { readonly call: OwnCall }, host: LeaderHost): CallStatus {
  try {
    const counter = host.callOnly((core, _, wallMs) => callIn(core, call, name, args, wallMs));
    return { state: "queued", counter, status: { state: "pending", durable: false, sent: false, wouldReject: undefined } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { state: "ended", status: { state: "cancelled", reason } };
  }
}

/** Calls in a core that leads, which recognises a call that it has. */
export function callIn(core: Core, { ticket, log }: OwnCall, name: string, args: string, wallMs: number): number {
  if (log === undefined) {
    return core.mutate(name, args, ticket, wallMs);
  }
  return core.operateLog(core.joinLog(log.name, log.instance), log.operation, args, ticket, wallMs);
}

function takeBack({ counter }: OwnCall, host: LeaderHost): void {
  if (counter !== undefined) {
    host.callOnly((core) => core.cancel(counter));
  }
}
