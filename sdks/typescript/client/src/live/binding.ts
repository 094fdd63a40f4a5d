/** What a binding is made of: how it reads, and how it writes. */

import type { MutationHandle, Observation, Reactive, ReactOptions, Stop } from "../client/types.js";
import type { Closure } from "../transaction/runClosure.js";
import type { Live } from "./types.js";

/** What bindings need of a client. */
export interface LiveHost {
  observe(closure: Closure, options: ReactOptions): Observation<unknown>;
  /** Calls one mutation that makes these changes. */
  write(writes: LiveWrites): MutationHandle;
  /** Calls one that changes a text, as the core shows it now. */
  edit(cell: LiveCellName, at: number, removed: number, inserted: string): MutationHandle;
  /** What its positions are of. */
  written(cell: LiveCellName): string | undefined;
}

/** Which cell: the numbers of table and column, the key's values. */
export interface LiveCellName {
  readonly table: number;
  readonly key: readonly unknown[];
  readonly column: number;
}

/** The writes of one mutation: the core's name for each, the cell, and what the core takes after it. */
export type LiveWrites = readonly LiveWrite[];

export interface LiveWrite extends LiveCellName {
  readonly call: string;
  readonly rest: readonly unknown[];
}

/** How long a binding that nobody listens to stays up to date after it was asked. */
const IDLE_MS = 1000;

/** A part of the data that is read by a closure. It begins when it is first asked for, and ends a little after the last listener did. */
export class LiveReading<T> implements Live<T> {
  readonly #host: LiveHost;
  readonly #closure: Closure;
  readonly #options: ReactOptions;
  #observation: Observation<T> | undefined;
  #listeners = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(host: LiveHost, closure: Closure, options: ReactOptions) {
    this.#host = host;
    this.#closure = closure;
    this.#options = options;
  }

  get state(): Reactive<T> {
    return this.#running().state;
  }

  get value(): T | undefined {
    return this.state.data;
  }

  onChange(callback: (state: Reactive<T>) => void): Stop {
    const stop = this.#running().onChange(callback);
    this.#listeners += 1;
    // It began before there was a listener, as one that would soon be idle.
    clearTimeout(this.#idle);
    let listens = true;
    return () => {
      if (listens) {
        listens = false;
        stop();
        this.#listeners -= 1;
        this.#endWhenIdle();
      }
    };
  }

  #running(): Observation<T> {
    this.#observation ??= this.#host.observe(this.#closure, this.#options) as Observation<T>;
    this.#endWhenIdle();
    return this.#observation;
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#listeners > 0) {
      return;
    }
    this.#idle = setTimeout(() => {
      this.#observation?.stop();
      this.#observation = undefined;
    }, IDLE_MS);
    // In Node a pause that nobody waits for does not keep the process.
    (this.#idle as { unref?: () => void }).unref?.();
  }
}
