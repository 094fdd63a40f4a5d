/** The place that a host of objects runs in: a page, or Node. */

import type { Link, LinkEvents } from "@iolite/client/link";

import type { ShelfPlace } from "../keep/shelf.js";
import type { RunScope } from "../runs.js";

export interface Platform {
  readonly isPage: boolean;
  /** Loads the module, once. */
  load(): Promise<void>;
  openLink(url: string, events: LinkEvents): Link;
  readonly scope: RunScope;
  /** Where objects are kept. `undefined`: they are not. */
  readonly shelves: ShelfPlace | undefined;
}
