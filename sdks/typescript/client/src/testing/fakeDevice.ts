/** One device of a test: its tabs share storage and locks, and its network can be cut. */

import { IDBFactory } from "fake-indexeddb";

import { openClient } from "../client/openClient.js";
import type { Client, ClientOptions } from "../client/types.js";
import { platform as node } from "../platform/node.js";
import type { Link, Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import { FakeLocks } from "./fakeLocks.js";

export class FakeDevice {
  indexedDB: IDBFactory | undefined = new IDBFactory();
  locks: FakeLocks | undefined = new FakeLocks();
  readonly #links = new Set<{ readonly link: Link; readonly lost: () => void }>();
  /** Links that were asked for. */
  attempts = 0;
  #cut = false;

  /** The network is gone, or there again. */
  set cut(cut: boolean) {
    this.#cut = cut;
    if (cut) {
      for (const { link, lost } of this.#links) {
        link.close();
        lost();
      }
      this.#links.clear();
    }
  }

  async openTab<S extends Schema, M>(options: ClientOptions<S, M>): Promise<Client<S, M>> {
    const client: unknown = await openClient({ development: true, ...options }, this.#platform());
    return client as Client<S, M>;
  }

  #platform(): Platform {
    return {
      ...node,
      indexedDB: this.indexedDB,
      locks: this.locks,
      openLink: (url, events) => {
        this.attempts += 1;
        if (this.#cut) {
          queueMicrotask(events.lost);
          return { send: () => undefined, close: () => undefined };
        }
        const link = node.openLink(url, events);
        this.#links.add({ link, lost: events.lost });
        return link;
      },
    };
  }
}
