/**
 * The mutations that a tab knows: their handles, and the lists of what is pending and refused. It is the same one, whichever core the tab
 * works through.
 *
 * Invariant: a named call has a ticket, which names it in every tab and under every leader. Counters are those of one leader: with another one they are void.
 */

import { IoliteError } from "../errors.js";
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
  /** Whether the core leads: then it lists all calls that it has. */
  #leads = false;
  /** By counter, the calls of this tab that took effect and are not delivered yet. */
  readonly #undelivered = new Map<number, Handle>();

  constructor(options: BookOptions) {
    this.#options = options;
  }

  /** There is another core. What it lists is known from now on; calls by ticket are followed on. */
  attach(core: Listings, role: "leader" | "follower"): void {
    this.#core = core;
    this.#leads = role === "leader";
    this.forgetCounters();
    this.#unfollow(LEAD_CHANGED);
    for (const [counter, ticket, name, args] of core.pending() as ListedPending[]) {
      this.#note(counter, [ticket, name, args]);
    }
  }

  /** Another tab leads, which may give other counters. */
  forgetCounters(): void {
    this.#byCounter.clear();
    this.calls.forEach(({ call }) => (call.counter = undefined));
  }

  /** The core is about to end: what it lists now is shown until there is another one. */
  detach(): void {
    this.#core = lastWordsOf(this.#core);
  }

  /** A mutator, or an operation of a log, was called: with a counter in the tab that leads. */
  begin(call: OwnCall, name: string, args: string, cancel: () => boolean): Handle {
    const { ticket, counter } = call;
    const unfollowed = counter === undefined ? TAB_FOLLOWS : undefined;
    const handle = new Handle(ticket, this.#options.notifier, cancel, this.#options.follows ? unfollowed : NOTHING_FOLLOWED);
    const known = { id: ticket, name, args, call, handle, transaction: undefined, error: undefined };
    this.#byTicket.set(ticket, known);
    if (counter !== undefined) {
      this.#byCounter.set(counter, known);
    }
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
      known.call.stage = status.durable ? "stored" : known.call.stage;
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

  /** A call of this tab got on, or ended. */
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

  /** Another tab has taken the lead from this one. Its calls that have not ended go on by ticket. Not for while a core is there. */
  handOver(): void {
    this.#byCounter.forEach(({ transaction }) => transaction?.failed(new IoliteError("not-leading", TRANSACTION_CUT)));
    this.forgetCounters();
    this.calls.forEach(({ handle }) => handle?.unfollow(LEAD_CHANGED));
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
    return [...this.#byCounter.values(), ...this.#byTicket.values()];
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
    // Where it leads, a call that has a counter and is not listed ends: it waits for the disk only.
    const unqueued = this.calls.filter(({ id, call }) => !ids.has(id) && !(this.#leads && call.counter !== undefined));
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
    if (own !== undefined) {
      own.call.counter = counter;
    }
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
    }
    if (known.call !== undefined) {
      this.#byTicket.delete(known.call.ticket);
    }
    const { id, name, args, error } = known;
    if (this.#options.development && status.state === "cancelled") {
      tellDeveloper(known, status.reason);
    }
    known.handle?.become(status, error);
    if (this.#options.follows && status.state === "confirmed" && counter !== undefined && known.handle?.isFollowed === true) {
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
  if (status.state === "confirmed" || status.state === "overruled") {
    transaction?.tookEffect(attempt);
  } else {
    transaction?.failed(error ?? errorOf(status, undefined));
  }
}

