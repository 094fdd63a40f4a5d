/**
 * Keeps a client's data in IndexedDB.
 *
 * Invariant: one write is one transaction, with strict durability, and is reported only when that is complete.
 */

import { Connection, ENTRIES, isNamed, resultOf } from "./connection.js";
import { eraseDatabase } from "./erase.js";
import { beginGeneration, checkGeneration, entryKeys, type Generation, lastGeneration } from "./fence.js";
import { type Changes, type Lead, OvertakenError, type Storage } from "./storage.js";

/** @throws when the browser has no storage for this page, as in some private modes. */
export async function openIndexedDbStorage(factory: IDBFactory, name: string): Promise<Storage> {
  const connection = await Connection.open(factory, name);
  /** While this tab leads. */
  let generation: Generation | undefined;
  return {
    kind: "indexeddb",
    lost: connection.lost,
    load: () => load(connection, entryKeys()),
    lead: async (how) => {
      const led = await lead(connection).catch((error: unknown) => leadUncounted(connection, how, error));
      generation = led.generation;
      return led.stored;
    },
    follow: () => (generation = undefined),
    leads: async () => generation !== undefined && generation === (await last(connection)),
    isFenced: async () => (await last(connection)) > 0,
    loadBeginningWith: (byte) =>
      load(connection, IDBKeyRange.bound(Uint8Array.of(byte), Uint8Array.of(byte + 1), false, true)),
    write: (changes) => write(connection, changes, generation),
    close: () => connection.close(),
    erase: () => eraseDatabase(factory, name, clear),
  };
}

async function write(connection: Connection, changes: Changes, generation: Generation | undefined): Promise<void> {
  const transaction = await connection.begin("readwrite", { durability: "strict" });
  try {
    const entries = transaction.objectStore(ENTRIES);
    if (generation !== undefined) {
      checkGeneration(entries, generation);
    }
    change(entries, changes);
    // The page may stand still from here on: others do not wait for it.
    transaction.commit();
  } catch (error) {
    // What was asked for before it would be stored by itself.
    transaction.abort();
    throw error;
  }
  try {
    await completionOf(transaction);
  } catch (error) {
    throw generation !== undefined && isNamed(error, "ConstraintError") ? new OvertakenError() : error;
  }
}

async function lead(connection: Connection): Promise<{ generation: Generation; stored: Uint8Array[] }> {
  const transaction = await connection.begin("readwrite", { durability: "strict" });
  const entries = transaction.objectStore(ENTRIES);
  const completed = completionOf(transaction);
  completed.catch(() => undefined);
  const generation = await beginGeneration(entries);
  const stored = await entriesIn(entries, entryKeys());
  await completed;
  return { generation, stored };
}

/** The marks of generations stay, so that a tab which stands still writes nothing when it wakes. */
async function clear(database: IDBDatabase): Promise<void> {
  const transaction = database.transaction(ENTRIES, "readwrite", { durability: "strict" });
  const completed = completionOf(transaction);
  completed.catch(() => undefined);
  const entries = transaction.objectStore(ENTRIES);
  entries.delete(entryKeys());
  await beginGeneration(entries);
  await completed;
}

/**
 * The device may have no room for another generation. Where nobody who led before may write, the tab goes on with the last one.
 *
 * @throws `error` where the lead was taken: the tab that has the last generation would be let in when it wakes.
 */
async function leadUncounted(connection: Connection, how: Lead, error: unknown): ReturnType<typeof lead> {
  if (how === "taken") {
    throw error;
  }
  return { generation: await last(connection), stored: await load(connection, entryKeys()) };
}

async function last(connection: Connection): Promise<Generation> {
  const transaction = await connection.begin("readonly");
  const found = lastGeneration(transaction.objectStore(ENTRIES));
  // A page that stops here holds up nobody.
  transaction.commit();
  return found;
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

async function load(connection: Connection, range: IDBKeyRange): Promise<Uint8Array[]> {
  const transaction = await connection.begin("readonly");
  const found = entriesIn(transaction.objectStore(ENTRIES), range);
  transaction.commit();
  return found;
}

async function entriesIn(entries: IDBObjectStore, range: IDBKeyRange): Promise<Uint8Array[]> {
  const [keys, values] = await Promise.all([resultOf(entries.getAllKeys(range)), resultOf(entries.getAll(range))]);
  return keys.flatMap((key, index) => [new Uint8Array(key as ArrayBuffer), values[index] as Uint8Array]);
}

function completionOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("IndexedDB aborted a write"));
  });
}
