/**
 * Which messages are shown. Who is at the end sees the newest, in a window that moves on with them; who reads further up keeps what is
 * there, and gets what is new below it.
 */

import type { ReadTransaction } from "@iolite/client";

import type { Message, schema } from "../schema";

export const PAGE = 60;
/** Past the id of every message: those are digits and small letters. */
const AFTER_ALL = "~";

export interface Window {
  /** The oldest message that was there when one began to read further up. */
  readonly since: string | undefined;
  /** How many messages before the newest, or before `since` and with it a page, one asked for. */
  readonly limit: number;
}

export interface Shown {
  /** Oldest first. */
  readonly messages: readonly Message[];
  readonly hasEarlier: boolean;
}

export function readMessages(tx: ReadTransaction<typeof schema>, room: string, { since, limit }: Window): Shown {
  const end = since ?? AFTER_ALL;
  const wanted = since === undefined ? limit : limit - PAGE;
  // One more than wanted tells whether there is more.
  const before = tx.messages.range({ from: [room], to: [room, end], reverse: true, limit: wanted + 1 });
  const after = since === undefined ? [] : tx.messages.range({ from: [room, since], to: [room, AFTER_ALL] });
  return { messages: [...before.slice(0, wanted).reverse(), ...after], hasEarlier: before.length > wanted };
}
