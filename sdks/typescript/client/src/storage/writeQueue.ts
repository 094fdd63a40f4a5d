/**
 * Writes batches one after the other.
 *
 * Invariant: a batch is written only after all before it; one that fails is tried again, and what is behind it waits.
 */

import type { Changes, Storage } from "./storage.js";

export interface WriteEvents {
  written(id: number): void;
  /** A write failed, or (undefined) works again. */
  trouble(message: string | undefined): void;
}

const RETRY_MS = 2000;

/** Accesses the storage; what comes back is called when it worked. */
type Step = () => Promise<() => void>;

export class WriteQueue {
  readonly #storage: Storage;
  readonly #events: WriteEvents;
  readonly #waiting: Step[] = [];
  #running: Promise<void> | undefined;
  #ending = false;

  constructor(storage: Storage, events: WriteEvents) {
    this.#storage = storage;
    this.#events = events;
  }

  push(id: number, changes: Changes): void {
    this.#add(async () => {
      await this.#storage.write(changes);
      return () => this.#events.written(id);
    });
  }

  /** Reads behind all that was pushed: what is stored under keys that begin with this byte. */
  readBeginningWith(byte: number, read: (entries: Uint8Array[]) => void): void {
    this.#add(async () => {
      const entries = await this.#storage.loadBeginningWith(byte);
      return () => read(entries);
    });
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
    let failed = false;
    for (let step = this.#waiting[0]; step !== undefined; step = this.#waiting[0]) {
      try {
        const done = await step();
        this.#waiting.shift();
        if (failed) {
          failed = false;
          this.#events.trouble(undefined);
        }
        done();
      } catch (error) {
        failed = true;
        this.#events.trouble(`this device cannot store data: ${error instanceof Error ? error.message : String(error)}`);
        if (this.#ending) {
          this.#waiting.length = 0;
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#running = undefined;
  }
}
