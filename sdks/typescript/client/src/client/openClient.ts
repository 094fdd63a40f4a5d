/** Finds out whether this tab leads, and opens its client. */

import type { Platform } from "../platform/platform.js";
import { isShared } from "../storage/chooseStorage.js";
import { ALONE, type Leadership, seekLeadership } from "../tabs/leadership.js";
import { TabClient, type TabOptions } from "./tabClient.js";
import type { Client } from "./types.js";

export async function openClient(options: TabOptions, platform: Platform): Promise<Client> {
  const name = `iolite/${encodeURIComponent(options.name)}/${encodeURIComponent(options.user)}`;
  const [tab] = await Promise.all([placeOfTab(options, platform, name), platform.loadCore()]);
  const client = new TabClient(options, tab.platform, name, tab.leadership);
  if (tab.leadership.isWaiting) {
    tab.leadership.won.then(() => client.lead()).catch((error: unknown) => {
      tab.leadership.release();
      client.failed(error);
    });
    return client;
  }
  try {
    await client.lead();
  } catch (error) {
    // Its storage cannot be used: another tab may try.
    tab.leadership.release();
    throw error;
  }
  return client;
}

/** Where this tab stands among those that share its storage. */
interface PlaceOfTab {
  readonly leadership: Leadership;
  readonly platform: Platform;
}

async function placeOfTab({ storage = "indexeddb" }: TabOptions, platform: Platform, name: string): Promise<PlaceOfTab> {
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
