/**
 * The chunks of blobs on this device.
 *
 * Invariant: a chunk that was kept is there until the storage is cleared. What is read is looked at by who reads it.
 */

import { eraseDatabase } from "../storage/erase.js";
import { isNamed, resultOf } from "../storage/connection.js";

export interface ChunkStore {
  /** Resolves when the chunk is stored. Rejects where the device has no room. */
  keep(id: string, content: Uint8Array): Promise<void>;
  /** Resolves to undefined if the chunk is not here, or cannot be read. */
  load(id: string): Promise<Uint8Array | undefined>;
  close(): void;
  /** Removes all chunks from the device. For a store that is closed. */
  erase(): Promise<void>;
}

const CHUNKS = "chunks";

/** Chunks in memory: they do not survive the page. */
export function memoryChunks(): ChunkStore {
  const chunks = new Map<string, Uint8Array>();
  return {
    keep: (id, content) => {
      chunks.set(id, content);
      return Promise.resolve();
    },
    load: (id) => Promise.resolve(chunks.get(id)),
    close: () => chunks.clear(),
    erase: () => Promise.resolve(),
  };
}

/** All tabs of a page share it. It is opened when it is used first. */
export function indexedDbChunks(factory: IDBFactory, name: string): ChunkStore {
  let opened: Promise<IDBDatabase> | undefined;
  let isClosed = false;
  const open = (): Promise<IDBDatabase> => {
    if (isClosed) {
      // Opening it would make it anew where it was erased.
      return Promise.reject(new Error("the client was closed"));
    }
    opened ??= openDatabase(factory, name, () => (opened = undefined));
    opened.catch(() => (opened = undefined));
    return opened;
  };
  return {
    keep: async (id, content) => {
      const transaction = await begin(open, "readwrite");
      transaction.objectStore(CHUNKS).put(content, id);
      transaction.commit();
      await new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("IndexedDB aborted a write"));
      });
    },
    load: async (id) => {
      try {
        const transaction = await begin(open, "readonly");
        return (await resultOf(transaction.objectStore(CHUNKS).get(id))) as Uint8Array | undefined;
      } catch {
        return undefined;
      }
    },
    close: () => {
      isClosed = true;
      void opened?.then((database) => database.close(), () => undefined);
    },
    erase: () => eraseDatabase(factory, name, clear),
  };
}

async function clear(database: IDBDatabase): Promise<void> {
  const transaction = database.transaction(CHUNKS, "readwrite");
  const clearing = resultOf(transaction.objectStore(CHUNKS).clear());
  transaction.commit();
  await clearing;
}

async function openDatabase(factory: IDBFactory, name: string, closed: () => void): Promise<IDBDatabase> {
  const opening = factory.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(CHUNKS);
  const database = await resultOf(opening);
  database.onclose = closed;
  database.onversionchange = () => {
    database.close();
    closed();
  };
  return database;
}

/** On a new connection, if the browser has closed the one before without a word. */
async function begin(open: () => Promise<IDBDatabase>, mode: IDBTransactionMode): Promise<IDBTransaction> {
  const database = await open();
  try {
    return database.transaction(CHUNKS, mode);
  } catch (error) {
    if (!isNamed(error, "InvalidStateError")) {
      throw error;
    }
    database.onclose?.(new Event("close"));
    return (await open()).transaction(CHUNKS, mode);
  }
}
