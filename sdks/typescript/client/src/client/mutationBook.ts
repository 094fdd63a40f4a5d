/**
 * The mutations that a tab knows: their handles, and the lists of what is pending and refused. It is the same one, whichever core the tab
 * works through.
 *
 * Invariant: a mutation that was called by ticket is named by that in every tab, any other one by its client and counter.
 */

import { IoliteError } from "../errors.js";
import { newId } from "../id.js";
import type { Closure, RunResult } from "../transaction/runClosure.js";
import type { Core } from "../wasm/iolite_wasm.js";
import { decodeArguments } from "../arguments/stored.js";
import { errorOf, Handle } from "./handle.js";
import type { KnownMutation, OwnCall } from "./knownMutation.js";
import type { Notifier } from "./notifier.js";
import { OpenTransaction } from "./openTransaction.js";
import { type CallStatus, readStatus } from "./outputs.js";
import type {
  MutationId,
  MutationStatus,
  PendingMutation,
  PendingStatus,
  RefusedMutation,
  SettledMutation,
  SettledStatus,
} from "./types.js";

type Listed<Detail> = [
  counter: number,
  ticket: string | undefined,
  name: string | undefined,
  args: string | undefined,
  calledAt: number,
  detail: Detail,
];
type ListedPending = Listed<[string, ...unknown[]]>;
type ListedRefused = Listed<[reason: string, byApp: boolean]>;
type Called = [ticket: string | undefined, name: string | undefined, args: string | undefined];

/** What a core tells about mutations at any time. */
export type Listings = Pick<Core, "called" | "identity" | "pending" | "refused" | "refusedCount">;

/** Before there is a core. */
const NOTHING: Listings = {
  called: () => undefined,
  identity: () => "",
  pending: () => [],
  refused: () => [],
  refusedCount: () => 0,
};

export interface BookOptions {
  readonly notifier: Notifier;
  readonly development: boolean;
  /** Whether a table says `.delivered()`, or is of a log. */
  readonly follows: boolean;
  settled(mutation: SettledMutation): void;
  /** Milliseconds since 1970. */
  wallMs(): number;
}

const NOTHING_FOLLOWED = "no table of the schema says .delivered(), so nobody is followed: say it of a table that the mutation writes";
const TAB_FOLLOWS = "a tab that follows another one does not hear when a mutation is delivered: call it in the tab that leads";
const TRANSACTION_CUT = "another tab took the lead while this ran, as this one stood still: look whether it took effect, and call it again if not";
const LEAD_CHANGED = "another tab leads now, so it will not be heard when the mutation is delivered";

export class MutationBook {
  readonly #options: BookOptions;
  #core: Listings = NOTHING;
  readonly #byCounter = new Map<number, KnownMutation>();
  readonly #byTicket = new Map<string, KnownMutation & { readonly call: OwnCall }>();
  /** By this tab. What the tab that leads lists of it still, because it did not hear of it, is not shown, and dismissed again. */
  readonly #dismissed = new Set<MutationId>();
  #refusedCount = 0;
  #isLost = false;
  /** By counter, what this tab called while it led and stored, before another one took the lead from it. */
  readonly #handedOver = new Map<number, KnownMutation>();
  /** By counter, the calls of this tab that took effect and are not delivered yet. */
  readonly #undelivered = new Map<number, Handle>();

  constructor(options: BookOptions) {
    this.#options = options;
  }

  /** There is another core. What it lists is known from now on; calls by ticket are followed on. */
  attach(core: Listings): void {
    this.#core = core;
    this.#byCounter.clear();
    this.#handedOver.forEach((known, counter) => this.#byCounter.set(counter, known));
    this.#unfollow(LEAD_CHANGED);
    for (const [counter, ticket, name, args] of core.pending() as ListedPending[]) {
      this.#note(counter, [ticket, name, args]);
    }
  }

  /** The core is about to end: what it lists now is shown until there is another one. */
  detach(): void {
    this.#core = lastWordsOf(this.#core);
  }

  /** A mutator was called in the tab that leads. */
  begin(counter: number, name: string, args: string, cancel: () => boolean): Handle {
    const known = this.#note(counter, [undefined, name, args]);
    const unfollowed = this.#options.follows ? undefined : NOTHING_FOLLOWED;
    return (known.handle = new Handle(known.id, this.#options.notifier, cancel, unfollowed));
  }

  /** A mutator was called in a tab that does not lead. */
  beginByTicket(call: OwnCall, name: string, args: string, cancel: () => boolean): Handle {
    const unfollowed = this.#options.follows ? TAB_FOLLOWS : NOTHING_FOLLOWED;
    const handle = new Handle(call.ticket, this.#options.notifier, cancel, unfollowed);
    const known = { id: call.ticket, name, args, call, handle, transaction: undefined, error: undefined };
    this.#byTicket.set(call.ticket, known);
    return handle;
  }

  /** The calls by ticket that have not ended, in order. */
  get calls(): readonly (KnownMutation & { readonly call: OwnCall })[] {
    return [...this.#byTicket.values()];
  }

  /** Whether the tab that leads has not answered some of them. */
  get hasUnanswered(): boolean {
    return this.calls.some(({ call }) => call.counter === undefined);
  }

  /** A closure without a name was called. */
  beginTransaction(counter: number, closure: Closure): Promise<unknown> {
    const known = this.#note(counter, [undefined, undefined, undefined]);
    return (known.transaction = new OpenTransaction(closure)).result;
  }

  transactionOf(counter: number): Closure | undefined {
    return this.#byCounter.get(counter)?.transaction?.closure;
  }

  ran(counter: number, result: RunResult): void {
    const known = this.#knownBy(counter);
    if (known === undefined) {
      return;
    }
    known.error = result.ended === "failed" ? result.error : undefined;
    if (result.ended === "returned") {
      known.transaction?.returned(result.value);
    }
  }

  /** A mutation of any tab got on, or ended. `attempt`: which one was submitted last, or took effect. */
  became(counter: number, status: MutationStatus, attempt: number): void {
    const known = this.#knownBy(counter);
    if (known === undefined) {
      // It ended before this tab heard of it.
      return;
    }
    if (status.state !== "pending") {
      return this.#settle(known, status, counter, attempt);
    }
    known.transaction?.submitted(attempt);
    if (known.call !== undefined) {
      known.call.counter = counter;
    }
    // What was in the outbox is on the disk, whatever the queue says.
    const durable = status.durable || known.call?.stage === "stored";
    known.handle?.become({ ...status, durable }, known.error);
  }

  /** Everybody who follows a mutation that took effect has applied it. */
  delivered(counter: number): void {
    this.#undelivered.get(counter)?.delivered();
    this.#undelivered.delete(counter);
  }

  /** A call that this tab made while it did not lead got on, or ended. */
  callBecame(ticket: string, status: CallStatus): void {
    const known = this.#byTicket.get(ticket);
    if (known === undefined) {
      return;
    }
    switch (status.state) {
      case "called":
        return;
      case "stored":
        known.call.stage = "stored";
        return known.handle?.become(STORED, undefined);
      case "queued":
        if (known.call.counter !== undefined && known.call.counter !== status.counter) {
          this.#byCounter.delete(known.call.counter);
        }
        this.#byCounter.set(status.counter, known);
        return this.became(status.counter, status.status, 0);
      case "ended":
        return this.#settle(known, status.status, known.call.counter, 0);
    }
  }

  /**
   * Another tab has taken the lead from this one. What this tab called and stored is in that one's queue, or has ended; what was not stored is called again, by ticket.
   * Not for while a core is there.
   */
  handOver(): void {
    for (const [counter, known] of this.#byCounter) {
      const { transaction, handle, name, args } = known;
      transaction?.failed(new IoliteError("not-leading", TRANSACTION_CUT));
      if (handle === undefined || known.call !== undefined || name === undefined || args === undefined) {
        continue;
      }
      if (handle.status.state === "pending" && !handle.status.durable) {
        const call: OwnCall = { ticket: newId(), calledAt: this.#options.wallMs(), stage: "kept", counter: undefined, wish: "keep" };
        handle.id = call.ticket;
        this.#byTicket.set(call.ticket, { ...known, id: call.ticket, call });
      } else {
        this.#handedOver.set(counter, known);
      }
    }
    this.#byCounter.clear();
  }

  /** The core knows what is pending and refused: what was handed over and is neither took effect while this tab stood still. */
  settleHandedOver(): void {
    if (this.#handedOver.size === 0) {
      return;
    }
    const pending = new Set((this.#core.pending() as ListedPending[]).map(([counter]) => counter));
    const refused = new Map((this.#core.refused() as ListedRefused[]).map(([counter, , , , , detail]) => [counter, detail]));
    for (const [counter, known] of this.#handedOver) {
      if (!pending.has(counter)) {
        const [reason, byApp] = refused.get(counter) ?? [];
        const end: SettledStatus = reason === undefined ? { state: "confirmed" } : { state: byApp === true ? "rejected" : "quarantined", reason };
        this.#settle(known, end, counter, 0);
      }
    }
    this.#unfollow(LEAD_CHANGED);
  }

  /** The storage is gone, and with it all that was not sent: what is pending is not durable. What was called is listed still. */
  lose(): void {
    this.#isLost = true;
    for (const { handle, call } of this.#all()) {
      if (call?.stage === "stored") {
        call.stage = "called";
      }
      if (handle?.status.state === "pending" && handle.status.durable) {
        handle.become({ ...handle.status, durable: false }, undefined);
      }
    }
  }

  /** The client closes, or cannot go on: nobody will hear of these any more. */
  giveUp(error: Error): void {
    for (const known of this.#all()) {
      known.handle?.giveUp(error);
      known.transaction?.failed(error);
      known.transaction = undefined;
    }
    this.#unfollow(error.message);
  }

  #all(): KnownMutation[] {
    return [...this.#byCounter.values(), ...this.#byTicket.values(), ...this.#handedOver.values()];
  }

  #unfollow(reason: string): void {
    this.#undelivered.forEach((handle) => handle.unfollow(reason));
    this.#undelivered.clear();
  }

  pending(): readonly PendingMutation[] {
    const listed = (this.#core.pending() as ListedPending[]).map(([counter, ticket, name, args, calledAt, status]) => ({
      id: this.#idOf(counter, ticket),
      name,
      args: args === undefined ? undefined : decodeArguments(args),
      calledAt,
      status: this.#asKept(readStatus(status) as PendingStatus),
    }));
    const ids = new Set(listed.map(({ id }) => id));
    const unqueued = this.calls.filter(({ id }) => !ids.has(id));
    return [...listed, ...unqueued.map(pendingCall)];
  }

  refused(): readonly RefusedMutation[] {
    const listed = (this.#core.refused() as ListedRefused[]).map(([counter, ticket, name = "", args = "null", calledAt, [reason, byApp]]) => ({
      id: this.#idOf(counter, ticket),
      name,
      args: decodeArguments(args),
      calledAt,
      reason,
      byApp,
    }));
    return listed.filter(({ id }) => !this.#dismissed.has(id));
  }

  /** The core has to hear of it too, now or when there is one. */
  dismiss(id: MutationId): void {
    this.#dismissed.add(id);
  }

  /** The counters of what was dismissed in this tab and is listed by the core. */
  get dismissed(): readonly number[] {
    const listed = this.#dismissed.size === 0 ? [] : (this.#core.refused() as ListedRefused[]);
    return listed.filter(([counter, ticket]) => this.#dismissed.has(this.#idOf(counter, ticket))).map(([counter]) => counter);
  }

  /** Whether one was dismissed, in any tab, since this was last asked. */
  wasDismissed(): boolean {
    const before = this.#refusedCount;
    this.#refusedCount = this.#core.refusedCount();
    return this.#refusedCount < before;
  }

  #asKept(status: PendingStatus): PendingStatus {
    return this.#isLost ? { ...status, durable: false } : status;
  }

  #idOf(counter: number, ticket: string | undefined): MutationId {
    return ticket ?? `${this.#core.identity()}-${counter}`;
  }

  #note(counter: number, [ticket, name, args]: Called): KnownMutation {
    const own = ticket === undefined ? undefined : this.#byTicket.get(ticket);
    const id = this.#idOf(counter, ticket);
    const known = own ?? { id, name, args, call: undefined, handle: undefined, transaction: undefined, error: undefined };
    this.#byCounter.set(counter, known);
    return known;
  }

  #knownBy(counter: number): KnownMutation | undefined {
    const known = this.#byCounter.get(counter);
    if (known !== undefined) {
      return known;
    }
    const called = (this.#core.called(counter) as Called | undefined) ?? this.#calledRefused(counter);
    return called === undefined ? undefined : this.#note(counter, called);
  }

  #calledRefused(counter: number): Called | undefined {
    const refused = (this.#core.refused() as ListedRefused[]).find(([own]) => own === counter);
    return refused === undefined ? undefined : [refused[1], refused[2], refused[3]];
  }

  #settle(known: KnownMutation, status: SettledStatus, counter: number | undefined, attempt: number): void {
    if (counter !== undefined) {
      this.#byCounter.delete(counter);
      this.#handedOver.delete(counter);
    }
    if (known.call !== undefined) {
      this.#byTicket.delete(known.call.ticket);
    }
    const { id, name, args, error } = known;
    if (this.#options.development && status.state === "cancelled") {
      tellDeveloper(known, status.reason);
    }
    known.handle?.become(status, error);
    if (this.#options.follows && status.state === "confirmed" && counter !== undefined && known.call === undefined && known.handle !== undefined) {
      this.#undelivered.set(counter, known.handle);
    }
    settleTransaction(known, status, attempt);
    const settled = { id, name, args: args === undefined ? undefined : decodeArguments(args), status };
    this.#options.notifier.add(() => this.#options.settled(settled));
  }
}

/** A call that never began is nothing that the page's user hears of. */
function tellDeveloper({ name = "without a name", error, handle }: KnownMutation, reason: string): void {
  if (error !== undefined) {
    console.error(`mutation ${name} failed:`, error);
  } else if (handle?.takenBack === false) {
    console.warn(`mutation ${name} did nothing: ${reason}`);
  }
}

function lastWordsOf(core: Listings): Listings {
  try {
    const [identity, pending, refused] = [core.identity(), core.pending(), core.refused()];
    return {
      ...NOTHING,
      identity: () => identity,
      pending: () => pending,
      refused: () => refused,
      refusedCount: () => refused.length,
    };
  } catch {
    // A core that is broken lists nothing.
    return NOTHING;
  }
}

const STORED: PendingStatus = { state: "pending", durable: true, sent: false, wouldReject: undefined };

/** A call that the leader does not have yet. */
function pendingCall({ id, name, args = "null", call }: KnownMutation & { readonly call: OwnCall }): PendingMutation {
  const durable = call.stage === "stored";
  return { id, name, args: decodeArguments(args), calledAt: call.calledAt, status: { ...STORED, durable } };
}

function settleTransaction({ transaction, error }: KnownMutation, status: SettledStatus, attempt: number): void {
  if (status.state === "confirmed") {
    transaction?.tookEffect(attempt);
  } else {
    transaction?.failed(error ?? errorOf(status, undefined));
  }
}

