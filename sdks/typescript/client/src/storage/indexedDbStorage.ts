/**
 * Keeps a client's data in IndexedDB.
 *
 * Invariant: one write is one transaction, with strict durability, and is reported only when that is complete.
 */

import type { Changes, Storage } from "./storage.js";

const VERSION = 1;
const ENTRIES = "entries";

/** @throws when the browser has no storage for this page, as in some private modes. */
export async function openIndexedDbStorage(factory: IDBFactory, name: string): Promise<Storage> {
  const opening = factory.open(name, VERSION);
  opening.onupgradeneeded = () => opening.result.createObjectStore(ENTRIES);
  const database = await resultOf(opening);
  return {
    kind: "indexeddb",
    lost: lossOf(database),
    load: () => load(database),
    loadBeginningWith: (byte) =>
      load(database, IDBKeyRange.bound(Uint8Array.of(byte), Uint8Array.of(byte + 1), false, true)),
    write: (changes) => {
      const transaction = database.transaction(ENTRIES, "readwrite", { durability: "strict" });
      try {
        change(transaction.objectStore(ENTRIES), changes);
      } catch (error) {
        // What was asked for before it would be stored by itself.
        transaction.abort();
        throw error;
      }
      return completionOf(transaction);
    },
    close: () => database.close(),
  };
}

function change(entries: IDBObjectStore, changes: Changes): void {
  for (let at = 0; at < changes.length; at += 2) {
    const [key, value] = [changes[at] as Uint8Array<ArrayBuffer>, changes[at + 1]];
    if (value === undefined) {
      entries.delete(key);
    } else {
      entries.put(value, key);
    }
  }
}

async function load(database: IDBDatabase, range?: IDBKeyRange): Promise<Uint8Array[]> {
  const entries = database.transaction(ENTRIES, "readonly").objectStore(ENTRIES);
  const [keys, values] = await Promise.all([resultOf(entries.getAllKeys(range)), resultOf(entries.getAll(range))]);
  return keys.flatMap((key, index) => [new Uint8Array(key as ArrayBuffer), values[index] as Uint8Array]);
}

/** The user or the app deletes the database, or a newer page wants another version of it: they get it. */
function lossOf(database: IDBDatabase): Promise<string> {
  return new Promise((resolve) => {
    const lose = (): void => resolve("the storage of this page was deleted, or taken by a newer page: load the page again");
    database.onversionchange = () => {
      database.close();
      lose();
    };
    database.onclose = lose;
  });
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB gave no reason"));
    if ("onblocked" in request) {
      request.onblocked = () => reject(new Error("another tab holds the storage in an older version: close it"));
    }
  });
}

function completionOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("IndexedDB aborted a write"));
  });
}
