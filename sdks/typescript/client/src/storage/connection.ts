/**
 * The connection to a database of IndexedDB. A browser may close it while the page goes on: then it is made again.
 *
 * Invariants: only the database that was opened first is used, and none that was made since; after its loss, or once it was closed here, no
 * connection is made.
 */

const VERSION = 1;
export const ENTRIES = "entries";

const LOST = "the storage of this page was deleted, or taken by a newer page: load the page again";

export class Connection {
  /** Resolves, to a reason, when the database is gone, or not this page's any more. */
  readonly lost: Promise<string>;
  readonly #factory: IDBFactory;
  readonly #name: string;
  /** Undefined once the browser has closed it. */
  #database: IDBDatabase | undefined;
  #reopening: Promise<IDBDatabase> | undefined;
  #isOver = false;
  #lose: () => void = () => undefined;

  /** @throws when the browser has no storage for this page, as in some private modes. */
  static async open(factory: IDBFactory, name: string): Promise<Connection> {
    const opening = factory.open(name, VERSION);
    opening.onupgradeneeded = () => opening.result.createObjectStore(ENTRIES);
    return new Connection(factory, name, await resultOf(opening));
  }

  private constructor(factory: IDBFactory, name: string, database: IDBDatabase) {
    this.#factory = factory;
    this.#name = name;
    this.lost = new Promise((resolve) => {
      this.#lose = () => {
        this.#isOver = true;
        resolve(LOST);
      };
    });
    this.#use(database);
  }

  /**
   * Begins a transaction, on a new connection if the browser has closed the one before.
   *
   * @throws when there is none to be had at the moment, or ever again.
   */
  async begin(mode: IDBTransactionMode, options?: IDBTransactionOptions): Promise<IDBTransaction> {
    const database = await this.#connected();
    try {
      return database.transaction(ENTRIES, mode, options);
    } catch (error) {
      if (!isNamed(error, "InvalidStateError")) {
        throw error;
      }
      // It was closed without a word.
      this.#forget(database);
      return (await this.#connected()).transaction(ENTRIES, mode, options);
    }
  }

  close(): void {
    this.#isOver = true;
    this.#database?.close();
  }

  #use(database: IDBDatabase): void {
    this.#database = database;
    // The user or the app deletes the database, or a newer page wants another version of it: they get it.
    database.onversionchange = () => {
      database.close();
      this.#lose();
    };
    // At once, to find out whether the user has deleted it. What cannot be opened now is tried again when it is needed.
    database.onclose = () => {
      this.#forget(database);
      this.#connected().catch(() => undefined);
    };
  }

  #forget(database: IDBDatabase): void {
    if (this.#database === database) {
      this.#database = undefined;
    }
  }

  async #connected(): Promise<IDBDatabase> {
    if (this.#database !== undefined) {
      return this.#database;
    }
    this.#reopening ??= this.#reopen().finally(() => (this.#reopening = undefined));
    return this.#reopening;
  }

  async #reopen(): Promise<IDBDatabase> {
    if (this.#isOver) {
      throw new Error("the storage was closed");
    }
    const opening = this.#factory.open(this.#name, VERSION);
    // It was deleted meanwhile. A new one in its place would know nothing of what this page has stored.
    opening.onupgradeneeded = () => {
      opening.transaction?.abort();
      this.#lose();
    };
    try {
      const database = await resultOf(opening);
      if (this.#isOver) {
        database.close();
      } else {
        this.#use(database);
      }
      return database;
    } catch (error) {
      if (isNamed(error, "VersionError")) {
        this.#lose();
      }
      throw error;
    }
  }
}

export function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB gave no reason"));
    if ("onblocked" in request) {
      request.onblocked = () => reject(new Error("another tab holds the storage in an older version: close it"));
    }
  });
}

export function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
