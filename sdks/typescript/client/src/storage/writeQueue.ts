/**
 * Writes batches one after the other.
 *
 * Invariant: a batch is written only after all before it; one that fails is tried again, and the ones behind it wait.
 */

import type { Changes, Storage } from "./storage.js";

export interface WriteEvents {
  written(id: number): void;
  /** A write failed, or (undefined) works again. */
  trouble(message: string | undefined): void;
}

const RETRY_MS = 2000;

export class WriteQueue {
  readonly #storage: Storage;
  readonly #events: WriteEvents;
  readonly #waiting: { readonly id: number; readonly changes: Changes }[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(storage: Storage, events: WriteEvents) {
    this.#storage = storage;
    this.#events = events;
  }

  push(id: number, changes: Changes): void {
    this.#waiting.push({ id, changes });
    this.#running ??= this.#run();
  }

  /** Resolves when what was pushed is written. A write that fails after this is given up. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    this.#storage.close();
  }

  async #run(): Promise<void> {
    let failed = false;
    for (let batch = this.#waiting[0]; batch !== undefined; batch = this.#waiting[0]) {
      try {
        await this.#storage.write(batch.changes);
        this.#waiting.shift();
        if (failed) {
          failed = false;
          this.#events.trouble(undefined);
        }
        this.#events.written(batch.id);
      } catch (error) {
        failed = true;
        this.#events.trouble(`this device cannot store data: ${error instanceof Error ? error.message : String(error)}`);
        if (this.#closed) {
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#running = undefined;
  }
}
