/** The marks in words. */

import type { Mark } from "./marks";

const WORDS: Record<Mark, string> = {
  optimistic: "only here so far",
  durable: "saved on this device, not sent yet",
  doubtful: "would be refused as things stand",
  undelivered: "confirmed, not with everybody yet",
  confirmed: "confirmed by the server",
};

export function markWords(mark: Mark): string {
  return WORDS[mark];
}
