/**
 * Objects that a page keeps on its device, and the life of its node: in IndexedDB, under a name that the app gives.
 *
 * Invariants:
 * - one page at a time has a shelf: a second tab of the name has the next one, with objects of its own, also after it was reloaded;
 * - all objects of a shelf are of one life under one store;
 * - what was put comes to the disk in the order of the calls, so the life of a node is there before each of its objects.
 */

import { newId } from "../id.js";

/** An object as it was kept. */
export interface KeptObject {
  readonly className: string;
  readonly id: string;
  /** The version of its class. */
  readonly version: number;
  readonly epoch: number;
  readonly state: Uint8Array;
}

/** The node, and the last life that it had, if it ever had one. */
export interface KeptNode {
  readonly node: string;
  /** The name that the server gave it, with its life. Shelves of earlier releases lack it: there it is the node itself. */
  readonly named?: string;
  readonly life?: number;
  readonly store?: string;
  /** Connections that all pages of this node may have made. */
  readonly connections: number;
}

/** The part of a page that shelves need. */
export interface ShelfPlace {
  readonly indexedDB: IDBFactory;
  readonly locks: Pick<LockManager, "request">;
  /** Lasts as long as the tab. */
  readonly tab: Pick<Storage, "getItem" | "setItem">;
}

const KEPT = "kept";
const NODE = "node";
/** No page connects so often. */
const CONNECTIONS = 1_000_000;
/** How long a page that is reloaded waits for the one before it. */
const CLOSING_MS = 500;
/** No browser has so many tabs of an app. */
const TABS = 1_000;

export class Shelf {
  #isClosed = false;

  private constructor(
    readonly database: IDBDatabase,
    public node: KeptNode,
    readonly objects: readonly KeptObject[],
    readonly release: () => void,
  ) {}

  /** @throws when the browser keeps nothing for this page, as in some private modes. */
  static async open({ indexedDB, locks, tab }: ShelfPlace, name: string): Promise<Shelf> {
    const prefix = `iolite-objects/${name}`;
    const last = Number(tab.getItem(prefix) ?? 0);
    const others = Array.from({ length: TABS }, (_, number) => number).filter((number) => number !== last);
    for (const number of [last, ...others]) {
      const own = `${prefix}/${number}`;
      const release = await seize(locks, own, number === last ? CLOSING_MS : 0);
      if (release !== undefined) {
        tab.setItem(prefix, String(number));
        try {
          return await Shelf.#at(indexedDB, own, release);
        } catch (error) {
          release();
          throw error;
        }
      }
    }
    throw new Error(`${TABS} pages have objects of the name ${JSON.stringify(name)}: close some of them`);
  }

  static async #at(indexedDB: IDBFactory, name: string, release: () => void): Promise<Shelf> {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(KEPT);
    const database = await resultOf(opening);
    const transaction = database.transaction(KEPT, "readwrite", { durability: "strict" });
    const kept = transaction.objectStore(KEPT);
    const [before, entries] = await Promise.all([
      resultOf(kept.get(NODE) as IDBRequest<KeptNode | undefined>),
      resultOf(kept.getAll(IDBKeyRange.lowerBound([])) as IDBRequest<KeptObject[]>),
    ]);
    const node = { ...(before ?? { node: newId(), connections: 0 }) };
    node.connections += CONNECTIONS;
    kept.put(node, NODE);
    await completionOf(transaction);
    return new Shelf(database, node, entries, release);
  }

  /** The life in which the objects that are put from now on are this node's. What was kept in another one is nobody's. */
  putLife(named: string, life: number, store: string): void {
    const { node, connections } = this.node;
    const isOther = life !== this.node.life || store !== this.node.store;
    const put = this.#write((kept) => {
      if (isOther) {
        kept.clear();
      }
      kept.put({ node, named, connections, life, store }, NODE);
    });
    this.node = { node, named, connections, life, store };
    // An object that is put later fails too, and says so.
    put.catch(() => undefined);
  }

  /** Resolves when the object is on the disk. */
  put(object: KeptObject): Promise<void> {
    return this.#write((kept) => kept.put(object, [object.className, object.id]));
  }

  remove(className: string, id: string): void {
    // One that stays is looked at, and removed, when the page is opened again.
    this.#write((kept) => kept.delete([className, id])).catch(() => undefined);
  }

  close(): void {
    if (!this.#isClosed) {
      this.#isClosed = true;
      // It waits for what was put.
      this.database.close();
      this.release();
    }
  }

  async #write(act: (kept: IDBObjectStore) => void): Promise<void> {
    const transaction = this.database.transaction(KEPT, "readwrite", { durability: "strict" });
    act(transaction.objectStore(KEPT));
    transaction.commit();
    await completionOf(transaction);
  }
}

/** Resolves to what gives the lock back, or to `undefined` if another page has it for so long. */
function seize(locks: ShelfPlace["locks"], name: string, waitMs: number): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const given = new AbortController();
    const timer = waitMs > 0 ? setTimeout(() => given.abort(), waitMs) : undefined;
    const held = (lock: Lock | null): Promise<void> | undefined => {
      clearTimeout(timer);
      if (lock === null) {
        resolve(undefined);
        return undefined;
      }
      return new Promise((release) => resolve(release));
    };
    const options = waitMs > 0 ? { signal: given.signal } : { ifAvailable: true };
    locks.request(name, options, held).catch((error: unknown) => (given.signal.aborted ? resolve(undefined) : reject(error)));
  });
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function completionOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the browser has given the write up"));
  });
}
