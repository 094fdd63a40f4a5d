/** What is open: the part of the address after `#/`. */

import { useSyncExternalStore } from "react";

function subscribe(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

export function useRoute(otherwise: string): string {
  return useSyncExternalStore(subscribe, () => decodeURIComponent(location.hash.replace(/^#\/?/, "")) || otherwise);
}
