/**
 * Removes a database from the device.
 *
 * Invariant: when it is removed, nothing that stood in it can be read any more, also if a page that stands still keeps the browser from deleting it.
 */

import { isNamed, resultOf } from "./connection.js";

/** `clear`: takes out of the open database what is to be gone. It is not called where the device has no such database. */
export async function eraseDatabase(factory: IDBFactory, name: string, clear: (database: IDBDatabase) => Promise<void>): Promise<void> {
  await cleared(factory, name, clear);
  await deleted(factory, name);
}

async function cleared(factory: IDBFactory, name: string, clear: (database: IDBDatabase) => Promise<void>): Promise<void> {
  const opening = factory.open(name);
  // There is none: it is not made for this.
  opening.onupgradeneeded = () => opening.transaction?.abort();
  try {
    const database = await resultOf(opening);
    // Another tab that removes it too need not wait for this one.
    database.onversionchange = () => database.close();
    await clear(database).finally(() => database.close());
  } catch (error) {
    if (!isNamed(error, "AbortError") && !isNamed(error, "InvalidStateError")) {
      throw error;
    }
  }
}

/** All tabs close it when they hear that it is to be deleted. Behind one that stands still the browser deletes it later, and it is empty by then. */
function deleted(factory: IDBFactory, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const deleting = factory.deleteDatabase(name);
    deleting.onsuccess = () => resolve();
    deleting.onblocked = () => resolve();
    deleting.onerror = () => reject(deleting.error ?? new Error("IndexedDB gave no reason"));
  });
}
