/** Which room is open. */

import { useRoute as useRouteOr } from "examples-page";

export const FIRST_ROOM = "living-room";

export function useRoute(): string {
  return useRouteOr(FIRST_ROOM);
}

export function addressOf(room: string): string {
  return `#/${encodeURIComponent(room)}`;
}
