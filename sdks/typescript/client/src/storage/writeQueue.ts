/**
 * Writes batches one after the other.
 *
 * Invariant: a batch is written only after all before it; one that fails is tried again, and what is behind it waits. Only all of them can be dropped.
 */

import { type Changes, OvertakenError, type Storage } from "./storage.js";

export interface WriteEvents {
  written(id: number): void;
  /** A write failed, or (undefined) works again. */
  trouble(message: string | undefined): void;
  /** A write failed because there is no room. Unless it is dropped, it is tried again. */
  full(): void;
  /** Another tab leads: nothing that was pushed and is not written will be. */
  overtaken(): void;
}

const RETRY_MS = 2000;

interface Step {
  readonly kind: "write" | "read";
  /** Accesses the storage; what comes back is called when it worked. */
  readonly run: () => Promise<() => void>;
}

export class WriteQueue {
  readonly #storage: Storage;
  readonly #events: WriteEvents;
  #waiting: Step[] = [];
  #running: Promise<void> | undefined;
  #state: "working" | "failing" = "working";
  /** The step that accesses the storage at this moment. */
  #current: Step | undefined;
  #endPause: () => void = () => undefined;
  #ending = false;

  constructor(storage: Storage, events: WriteEvents) {
    this.#storage = storage;
    this.#events = events;
  }

  push(id: number, changes: Changes): void {
    const run = async () => {
      await this.#storage.write(changes);
      return () => this.#events.written(id);
    };
    this.#add({ kind: "write", run });
  }

  /** Reads behind all that was pushed: what is stored under keys that begin with this byte. */
  readBeginningWith(byte: number, read: (entries: Uint8Array[]) => void): void {
    const run = async () => {
      const entries = await this.#storage.loadBeginningWith(byte);
      return () => read(entries);
    };
    this.#add({ kind: "read", run });
  }

  /**
   * Drops what was pushed and is not written, but for what is being written at the moment. What is pushed next takes its place, and is tried at
   * once if only one write has failed.
   */
  drop(): void {
    this.#waiting = this.#waiting.filter((step) => step.kind === "read" || step === this.#current);
    this.#endPause();
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Resolves when what was pushed is written. A write that fails after this is given up, with all behind it. */
  async settle(): Promise<void> {
    this.#ending = true;
    await this.#running;
  }

  /** The same, and closes the storage. */
  async close(): Promise<void> {
    await this.settle();
    this.#storage.close();
  }

  #add(step: Step): void {
    this.#waiting.push(step);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (let step = this.#waiting[0]; step !== undefined; step = this.#waiting[0]) {
      try {
        this.#current = step;
        const done = await step.run();
        this.#waiting.shift();
        if (this.#state === "failing") {
          this.#state = "working";
          this.#events.trouble(undefined);
        }
        done();
      } catch (error) {
        this.#current = undefined;
        await this.#onFailure(error);
      }
    }
    this.#current = undefined;
    this.#running = undefined;
  }

  async #onFailure(error: unknown): Promise<void> {
    if (error instanceof OvertakenError) {
      this.#waiting = [];
      this.#events.overtaken();
      return;
    }
    const isFirst = this.#state === "working";
    this.#state = "failing";
    this.#events.trouble(`this device cannot store data: ${error instanceof Error ? error.message : String(error)}`);
    if (this.#ending) {
      this.#waiting = [];
      return;
    }
    if (error instanceof Error && error.name === "QuotaExceededError") {
      this.#events.full();
    }
    await this.#pause(isFirst ? "until dropped" : "whole");
  }

  #pause(length: "until dropped" | "whole"): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS);
      if (length === "until dropped") {
        this.#endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      }
    });
  }
}
