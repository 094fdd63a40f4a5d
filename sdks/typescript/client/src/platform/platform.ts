/** What a client needs of the place it runs in: a page, Node, or a test. */

import type { Link, LinkEvents } from "../link/webSocketLink.js";
import type { Patience } from "../tabs/leaderWatch.js";

/** What the device reports. */
export interface DeviceEvents {
  /** There may be a network again, or somebody looks at the page again. */
  awake(): void;
  /** The page is closed, or put aside to be shown again later. */
  left(): void;
  /** The network is gone. */
  networkLost(): void;
}

/** Reaches all other tabs of this place that opened it under the same name. */
export interface Channel {
  post(message: unknown): void;
  close(): void;
}

export interface Platform {
  /** How long a tab that leads may stand still; only tests have another one. */
  readonly patience?: Patience;
  /** Loads the core, once. */
  loadCore(): Promise<void>;
  openLink(url: string, events: LinkEvents): Link;
  readonly indexedDB: IDBFactory | undefined;
  readonly locks: Pick<LockManager, "request" | "query"> | undefined;
  readonly openChannel: ((name: string, received: (message: unknown) => void) => Channel) | undefined;
  /** Asks that storage is not cleared without the user; resolves to whether it will not be. */
  askForPersistence(): Promise<boolean>;
  /** Returns the function that ends it. */
  onDevice(events: DeviceEvents): () => void;
  /** Calls back soon, after what has arrived by then. */
  soon(callback: () => void): void;
  /** Calls back with the next frame of the page, or soon where none comes, as in a hidden one. Undefined where there are no frames. */
  readonly frame: ((callback: () => void) => void) | undefined;
  /** Milliseconds of a clock that only goes forward. */
  monotonicMs(): number;
  /** Milliseconds since 1970. */
  wallMs(): number;
}
