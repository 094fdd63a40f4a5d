/** How the client stands to the server and to this device, put together from what the core, the storage and the app say. */

import type { Notifier } from "./notifier.js";
import type { ConnectionState } from "./types.js";
import { Watched } from "./watched.js";

export class ConnectionWatch {
  readonly watched: Watched<ConnectionState>;
  #state: ConnectionState;

  constructor(notifier: Notifier, storage: ConnectionState["storage"]) {
    this.#state = {
      status: "offline",
      role: "leader",
      storage,
      persistent: false,
      message: undefined,
      refusal: undefined,
      paused: false,
    };
    this.watched = new Watched(notifier, () => this.#state);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  change(change: Partial<ConnectionState>): void {
    const entries = Object.entries(change) as [keyof ConnectionState, unknown][];
    if (entries.some(([name, value]) => this.#state[name] !== value)) {
      this.#state = { ...this.#state, ...change };
      this.watched.invalidate();
    }
  }
}
