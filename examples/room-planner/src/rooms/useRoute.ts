/** Which room is open: the part of the address after `#/`. */

import { useSyncExternalStore } from "react";

export const FIRST_ROOM = "living-room";

function subscribe(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

function current(): string {
  return decodeURIComponent(location.hash.replace(/^#\/?/, "")) || FIRST_ROOM;
}

export function useRoute(): string {
  return useSyncExternalStore(subscribe, current);
}

export function addressOf(room: string): string {
  return `#/${encodeURIComponent(room)}`;
}
