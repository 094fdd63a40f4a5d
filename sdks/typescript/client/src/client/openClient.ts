/** Opens the client of a tab, which leads, or follows the one that does. */

import type { Platform } from "../platform/platform.js";
import { placeOfTab, type TabOptions } from "./placeOfTab.js";
import { Seat } from "./seat.js";
import { TabClient } from "./tabClient.js";
import type { Client } from "./types.js";

export async function openClient(options: TabOptions, platform: Platform): Promise<Client> {
  const seat = new Seat(options, await placeOfTab(options, platform));
  try {
    await seat.begin();
  } catch (error) {
    // Its storage or its schema cannot be used: it is not to lead later, and another tab may.
    await seat.close();
    throw error;
  }
  return new TabClient(seat);
}
