/** The place that a host of objects runs in: a page, or Node. */

import type { RunScope } from "../runs.js";

/** One connection to a server. */
export interface Link {
  send(frame: Uint8Array): void;
  /** Ends it. Nothing is reported afterwards. */
  close(): void;
}

export interface LinkEvents {
  opened(): void;
  /** The connection ended, or could not be made. `why`: if that is known. */
  lost(why?: string): void;
  frame(bytes: Uint8Array): void;
}

export interface Platform {
  readonly isPage: boolean;
  /** Loads the module, once. */
  load(): Promise<void>;
  openLink(url: string, events: LinkEvents): Link;
  readonly scope: RunScope;
}
