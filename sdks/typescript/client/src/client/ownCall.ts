/**
 * The named calls that a tab makes and takes back.
 *
 * Invariant: a call has its ticket before any core knows of it, and is stored with it: whichever tab leads next recognises it.
 */

import { newId } from "../id.js";
import type { LogOfCall, OwnCall } from "./knownMutation.js";
import type { LeaderHost } from "./leaderHost.js";
import type { Seat } from "./seat.js";
import { callIn, TAKEN_BACK } from "./takeOver.js";
import type { MutationHandle } from "./types.js";

/** Calls through the core that the tab has. While the tab takes the lead there is none: the next one gets the call. */
export function begin(seat: Seat, name: string, json: string): MutationHandle {
  const { host } = seat;
  const call = newCall(seat, undefined);
  if (host?.role === "leader") {
    lead(host, call, name, json);
  } else if (host !== undefined) {
    host.callOnly((core, _, wallMs) => core.call(call.ticket, name, json, wallMs));
    call.stage = "called";
  }
  return begun(seat, call, name, json);
}

/** Calls an operation of a log, which the core that leads has joined. */
export function operate(seat: Seat, host: LeaderHost, log: LogOfCall, name: string, json: string): MutationHandle {
  const call = newCall(seat, log);
  lead(host, call, name, json);
  return begun(seat, call, name, json);
}

function newCall(seat: Seat, log: LogOfCall | undefined): OwnCall {
  return { ticket: newId(), log, calledAt: seat.place.platform.wallMs(), stage: "kept", counter: undefined, wish: "keep" };
}

function lead(host: LeaderHost, call: OwnCall, name: string, json: string): void {
  call.counter = host.callOnly((core, _, wallMs) => {
    const counter = callIn(core, call, name, json, wallMs);
    // There is no copy of it in the outbox, so the core need not keep that it was confirmed: it hears so by this question.
    core.callStatus(call.ticket);
    return counter;
  });
  call.stage = "called";
}

function begun(seat: Seat, call: OwnCall, name: string, json: string): MutationHandle {
  const handle: MutationHandle = seat.book.begin(call, name, json, () => {
    const { status } = handle;
    return !seat.isOver && status.state === "pending" && !status.sent && takeBack(seat, call);
  });
  seat.host?.drain();
  seat.changed();
  return handle;
}

function takeBack(seat: Seat, call: OwnCall): boolean {
  const { host } = seat;
  if (host?.role === "leader") {
    const { counter } = call;
    const isTakenBack = counter !== undefined && host.call((core) => core.cancel(counter));
    call.wish = isTakenBack ? "takeBack" : call.wish;
    seat.notifier.flush();
    return isTakenBack;
  }
  call.wish = "takeBack";
  if (call.stage === "kept") {
    seat.book.callBecame(call.ticket, TAKEN_BACK);
    seat.changed();
  }
  host?.call((core) => core.takeBack(call.ticket));
  return true;
}
