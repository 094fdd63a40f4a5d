/** Opens the best storage that there is, and says why it is not a better one. */

import type { Platform } from "../platform/platform.js";
import { openIndexedDbStorage } from "./indexedDbStorage.js";
import { memoryStorage } from "./memoryStorage.js";
import type { Storage } from "./storage.js";

export interface ChosenStorage {
  readonly storage: Storage;
  /** Why data is kept in memory although the app did not ask for that. */
  readonly message: string | undefined;
}

export type WantedStorage = "indexeddb" | "memory";

export async function chooseStorage(platform: Platform, wanted: WantedStorage, name: string): Promise<ChosenStorage> {
  if (wanted === "memory") {
    return { storage: memoryStorage(), message: undefined };
  }
  if (platform.indexedDB === undefined) {
    return inMemory("there is no IndexedDB here");
  }
  if (platform.locks === undefined) {
    return inMemory("the browser has no Web Locks for this page, as it was not loaded over https or from localhost");
  }
  if (platform.openChannel === undefined) {
    return inMemory("the browser has no BroadcastChannel, by which several tabs share one storage");
  }
  try {
    return { storage: await openIndexedDbStorage(platform.indexedDB, name), message: undefined };
  } catch (error) {
    return inMemory(`IndexedDB cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function inMemory(reason: string): ChosenStorage {
  return { storage: memoryStorage(), message: `data is kept in memory only, ${reason}` };
}
