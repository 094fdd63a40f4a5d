/**
 * Keeps a client's data in IndexedDB.
 *
 * Invariant: one write is one transaction, with strict durability, and is reported only when that is complete.
 */

import { Connection, ENTRIES, resultOf } from "./connection.js";
import type { Changes, Storage } from "./storage.js";

/** @throws when the browser has no storage for this page, as in some private modes. */
export async function openIndexedDbStorage(factory: IDBFactory, name: string): Promise<Storage> {
  const connection = await Connection.open(factory, name);
  return {
    kind: "indexeddb",
    lost: connection.lost,
    load: () => load(connection),
    loadBeginningWith: (byte) =>
      load(connection, IDBKeyRange.bound(Uint8Array.of(byte), Uint8Array.of(byte + 1), false, true)),
    write: (changes) => write(connection, changes),
    close: () => connection.close(),
  };
}

async function write(connection: Connection, changes: Changes): Promise<void> {
  const transaction = await connection.begin("readwrite", { durability: "strict" });
  try {
    change(transaction.objectStore(ENTRIES), changes);
  } catch (error) {
    // What was asked for before it would be stored by itself.
    transaction.abort();
    throw error;
  }
  return completionOf(transaction);
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

async function load(connection: Connection, range?: IDBKeyRange): Promise<Uint8Array[]> {
  const entries = (await connection.begin("readonly")).objectStore(ENTRIES);
  const [keys, values] = await Promise.all([resultOf(entries.getAllKeys(range)), resultOf(entries.getAll(range))]);
  return keys.flatMap((key, index) => [new Uint8Array(key as ArrayBuffer), values[index] as Uint8Array]);
}

function completionOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("IndexedDB aborted a write"));
  });
}
