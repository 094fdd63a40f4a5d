/**
 * The fence between a tab that leads and those that led before it: each has a generation, a number that the storage counts. It stands beside the
 * client's own entries, under keys that are no bytes: the last generation under a string, and under the number of each generation that is over a mark.
 *
 * Invariants: a write of a generation that is over changes nothing; no write waits for the page between its requests, so a page that stands still in the middle of one
 * holds up nobody.
 */

import { resultOf } from "./connection.js";

const LAST = "generation";

/** Marks of generations so far back go. A page that stood still for so long is not there any more. */
export const MARKS_MAX = 10_000;

/** The keys of the client's own entries, which are bytes. IndexedDB has them behind numbers and strings, and no key of the core begins with a zero. */
export const entryKeys = (): IDBKeyRange => IDBKeyRange.lowerBound(Uint8Array.of(0));

export type Generation = number;

/** Begins a generation, and ends all before it. */
export async function beginGeneration(entries: IDBObjectStore): Promise<Generation> {
  const last = await lastGeneration(entries);
  entries.put(last + 1, LAST);
  entries.put(0, last);
  entries.delete(IDBKeyRange.upperBound(last - MARKS_MAX));
  return last + 1;
}

/** None yet: 0. */
export async function lastGeneration(entries: IDBObjectStore): Promise<Generation> {
  const last = await resultOf<unknown>(entries.get(LAST));
  return typeof last === "number" ? last : 0;
}

/** Has a transaction fail, with a ConstraintError, if this generation is over. */
export function checkGeneration(entries: IDBObjectStore, generation: Generation): void {
  entries.add(0, generation);
  entries.delete(generation);
}
