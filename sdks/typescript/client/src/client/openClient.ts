/** Finds out whether this tab leads, and opens its client. */

import type { Platform } from "../platform/platform.js";
import { chooseStorage, inMemory } from "../storage/chooseStorage.js";
import { ALONE, seekLeadership } from "../tabs/leadership.js";
import { type PlaceOfTab, Seat, type TabOptions } from "./seat.js";
import { TabClient } from "./tabClient.js";
import type { Client } from "./types.js";

export async function openClient(options: TabOptions, platform: Platform): Promise<Client> {
  const seat = new Seat(options, await placeOfTab(options, platform));
  if (seat.place.leadership.isWaiting) {
    seat.follow();
    return new TabClient(seat);
  }
  try {
    await seat.lead();
  } catch (error) {
    // Its storage cannot be used: another tab may try.
    await seat.close();
    throw error;
  }
  return new TabClient(seat);
}

/** Only a tab that could work, with a core and a storage that others share, seeks the lead: nobody takes it from one that cannot. */
async function placeOfTab({ name: app, user, storage = "indexeddb" }: TabOptions, platform: Platform): Promise<PlaceOfTab> {
  const name = `iolite/${encodeURIComponent(app)}/${encodeURIComponent(user)}`;
  const [chosen] = await Promise.all([chooseStorage(platform, storage, name), platform.loadCore()]);
  if (chosen.storage.kind === "memory" || platform.locks === undefined) {
    return { platform, name, chosen, leadership: ALONE };
  }
  try {
    return { platform, name, chosen, leadership: await seekLeadership(platform.locks, name) };
  } catch {
    chosen.storage.close();
    // Such as in a sandboxed frame.
    return { platform, name, chosen: inMemory("the browser forbids Web Locks for this page"), leadership: ALONE };
  }
}
