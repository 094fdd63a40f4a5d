/** Keeps nothing past the page: the core itself has all that is needed until then. */

import type { Storage } from "./storage.js";

export function memoryStorage(): Storage {
  return {
    kind: "memory",
    lost: new Promise(() => undefined),
    load: () => Promise.resolve([]),
    lead: () => Promise.resolve([]),
    follow: () => undefined,
    leads: () => Promise.resolve(true),
    isFenced: () => Promise.resolve(false),
    loadBeginningWith: () => Promise.resolve([]),
    write: () => Promise.resolve(),
    close: () => undefined,
    erase: () => Promise.resolve(),
  };
}
