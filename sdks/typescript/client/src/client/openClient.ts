/** Finds out whether this tab leads, and opens its client. */

import type { Platform } from "../platform/platform.js";
import { chooseStorage, isShared } from "../storage/chooseStorage.js";
import { ALONE, type Leadership, seekLeadership } from "../tabs/leadership.js";
import { type PlaceOfTab, Seat, type TabOptions } from "./seat.js";
import { TabClient } from "./tabClient.js";
import type { Client } from "./types.js";

export async function openClient(options: TabOptions, platform: Platform): Promise<Client> {
  const name = `iolite/${encodeURIComponent(options.name)}/${encodeURIComponent(options.user)}`;
  const [place] = await Promise.all([placeOfTab(options, platform, name), platform.loadCore()]);
  const { leadership } = place;
  const seat = new Seat(options, place);
  if (leadership.isWaiting) {
    seat.follow();
    leadership.won.then(() => seat.lead()).catch((error: unknown) => {
      leadership.release();
      seat.failed(error);
    });
    return new TabClient(seat);
  }
  try {
    await seat.lead();
  } catch (error) {
    // Its storage cannot be used: another tab may try.
    leadership.release();
    throw error;
  }
  return new TabClient(seat);
}

async function placeOfTab({ storage = "indexeddb" }: TabOptions, platform: Platform, name: string): Promise<PlaceOfTab> {
  const seat = await seatOf(platform, storage, name);
  const chosen = await chooseStorage(seat.platform, storage, name);
  if (seat.leadership.isWaiting && chosen.storage.kind === "memory") {
    // The browser refuses this tab what the others share.
    seat.leadership.release();
    return { ...seat, name, chosen, leadership: ALONE };
  }
  return { ...seat, name, chosen };
}

async function seatOf(
  platform: Platform,
  storage: "indexeddb" | "memory",
  name: string,
): Promise<{ readonly leadership: Leadership; readonly platform: Platform }> {
  if (!isShared(platform, storage) || platform.locks === undefined) {
    return { leadership: ALONE, platform };
  }
  try {
    return { leadership: await seekLeadership(platform.locks, name), platform };
  } catch {
    // The browser has locks, but not for this page, such as one in a sandboxed frame: nor may it share a storage then.
    return { leadership: ALONE, platform: { ...platform, locks: undefined } };
  }
}
