/** The mutations of one core: their handles, and the lists of what is pending and refused. */

import type { Closure, RunResult } from "../transaction/runClosure.js";
import type { Core } from "../wasm/iolite_wasm.js";
import { decodeArguments } from "./arguments.js";
import { errorOf, Handle } from "./handle.js";
import { callBack, type Notifier } from "./notifier.js";
import { readStatus } from "./outputs.js";
import type {
  MutationId,
  MutationStatus,
  PendingMutation,
  RefusedMutation,
  SettledMutation,
  SettledStatus,
  Stop,
} from "./types.js";

type Listed<Detail> = [counter: number, name: string, args: string, calledAt: number, detail: Detail];

/** What the core tells about mutations at any time. */
export type Listings = Pick<Core, "identity" | "pending" | "refused">;

/** A closure without a name, and who waits for it. */
interface OpenTransaction {
  readonly closure: Closure;
  value: unknown;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class MutationBook {
  readonly #core: Listings;
  readonly #identity: string;
  readonly #notifier: Notifier;
  readonly #handles = new Map<number, Handle>();
  readonly #names = new Map<number, string>();
  readonly #errors = new Map<number, Error>();
  readonly #transactions = new Map<number, OpenTransaction>();
  readonly #settledCallbacks: Set<(mutation: SettledMutation) => void>;
  readonly #development: boolean;

  constructor(
    core: Listings,
    notifier: Notifier,
    settledCallbacks: Set<(mutation: SettledMutation) => void>,
    development: boolean,
  ) {
    this.#core = core;
    this.#identity = core.identity();
    this.#notifier = notifier;
    this.#settledCallbacks = settledCallbacks;
    this.#development = development;
    for (const { id, name } of this.pending()) {
      this.#note(id, name);
    }
  }

  /** A mutator was called. */
  begin(counter: number, name: string, cancel: () => boolean): Handle {
    this.#names.set(counter, name);
    const handle = new Handle(this.idOf(counter), this.#notifier, cancel);
    this.#handles.set(counter, handle);
    return handle;
  }

  /** A closure without a name was called. */
  beginTransaction(counter: number, closure: Closure): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#transactions.set(counter, { closure, value: undefined, resolve, reject });
    });
  }

  transactionOf(counter: number): Closure | undefined {
    return this.#transactions.get(counter)?.closure;
  }

  ran(counter: number, result: RunResult): void {
    this.#errors.delete(counter);
    if (result.ended === "failed") {
      this.#errors.set(counter, result.error);
    }
    const transaction = this.#transactions.get(counter);
    if (transaction !== undefined && result.ended === "returned") {
      transaction.value = result.value;
    }
  }

  /** A mutation got on, or ended. */
  became(counter: number, status: MutationStatus): void {
    const error = this.#errors.get(counter);
    this.#handles.get(counter)?.become(status, error);
    if (status.state === "pending") {
      return;
    }
    if (this.#development && status.state === "cancelled" && error !== undefined) {
      console.error(`mutation ${this.#names.get(counter) ?? "without a name"} failed:`, error);
    }
    this.#settleTransaction(counter, status, error);
    const settled: SettledMutation = { id: this.idOf(counter), name: this.#names.get(counter), status };
    this.#notifier.add(() => this.#settledCallbacks.forEach((callback) => callBack(callback, settled)));
    for (const map of [this.#handles, this.#names, this.#errors, this.#transactions]) {
      map.delete(counter);
    }
  }

  /** The client closes: nobody will hear of these any more. */
  giveUp(error: Error): void {
    this.#handles.forEach((handle) => handle.giveUp(error));
    this.#transactions.forEach((transaction) => transaction.reject(error));
    this.#transactions.clear();
  }

  pending(): readonly PendingMutation[] {
    return (this.#core.pending() as Listed<[string, ...unknown[]]>[]).map(([counter, name, args, calledAt, status]) => ({
      id: this.idOf(counter),
      name,
      args: args === undefined ? undefined : decodeArguments(args),
      calledAt,
      status: readStatus(status) as PendingMutation["status"],
    }));
  }

  refused(): readonly RefusedMutation[] {
    return (this.#core.refused() as Listed<[string, boolean]>[]).map(([counter, name, args, calledAt, [reason, byApp]]) => ({
      id: this.idOf(counter),
      name,
      args: decodeArguments(args),
      calledAt,
      reason,
      byApp,
    }));
  }

  idOf(counter: number): MutationId {
    return `${this.#identity}-${counter}`;
  }

  /** Undefined for an id of another client. */
  counterOf(id: MutationId): number | undefined {
    const [identity, counter] = id.split("-");
    return identity === this.#identity ? Number(counter) : undefined;
  }

  #note(id: MutationId, name: string | undefined): void {
    const counter = this.counterOf(id);
    if (counter !== undefined && name !== undefined) {
      this.#names.set(counter, name);
    }
  }

  #settleTransaction(counter: number, status: SettledStatus, error: Error | undefined): void {
    const transaction = this.#transactions.get(counter);
    if (transaction === undefined) {
      return;
    }
    if (status.state === "confirmed") {
      transaction.resolve(transaction.value);
    } else {
      transaction.reject(error ?? errorOf(status, undefined));
    }
  }
}

export function settledCallbackOf(
  callbacks: Set<(mutation: SettledMutation) => void>,
  callback: (mutation: SettledMutation) => void,
): Stop {
  const own = (mutation: SettledMutation): void => callback(mutation);
  callbacks.add(own);
  return () => void callbacks.delete(own);
}

