/** The databases that a page has on its device. */

import type { Page } from "playwright-core";

/** Whether anything in the page's databases has this text. */
export function isStored(page: Page, text: string): Promise<boolean> {
  return page.evaluate(async (wanted) => {
    const done = <T>(request: IDBRequest<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        request.onsuccess = (): void => resolve(request.result);
        request.onerror = (): void => reject(request.error ?? new Error("it cannot be read"));
      });
    const inText = (value: unknown): string =>
      value instanceof Uint8Array || value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : JSON.stringify(value, (_, own: unknown) => (own instanceof Uint8Array ? new TextDecoder("latin1").decode(own) : own));
    for (const { name } of await indexedDB.databases()) {
      const database = await done(indexedDB.open(name ?? ""));
      for (const store of database.objectStoreNames) {
        const values: unknown[] = await done(database.transaction(store).objectStore(store).getAll());
        if (values.some((value) => inText(value).includes(wanted))) {
          database.close();
          return true;
        }
      }
      database.close();
    }
    return false;
  }, text);
}
