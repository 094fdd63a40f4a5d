/** Finds out where a tab keeps its data, and whether it leads those that share it. */

import type { Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import { type ChosenStorage, chooseStorage, inMemory } from "../storage/chooseStorage.js";
import { ALONE, type Leadership, seekLeadership } from "../tabs/leadership.js";
import type { Gateways } from "./addresses.js";
import type { OptionsOfApp } from "./types.js";

/** What a tab is opened with. */
export type TabOptions = OptionsOfApp<Schema, unknown> & { readonly development: boolean; readonly gateways: Gateways };

/** Where a tab stands among those that share its client. */
export interface PlaceOfTab {
  readonly platform: Platform;
  /** The name of the storage, and of all that its tabs share. */
  readonly name: string;
  readonly leadership: Leadership;
  readonly chosen: ChosenStorage;
}

/** Only a tab that could work, with a core and a storage that others share, seeks the lead: nobody takes it from one that cannot. */
export async function placeOfTab(
  { name: app, user, storage = "indexeddb" }: TabOptions,
  platform: Platform,
): Promise<PlaceOfTab> {
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
