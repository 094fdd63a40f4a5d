/** One device of a test: its tabs share storage and locks, and its network can be cut. */

import { IDBFactory, IDBKeyRange } from "fake-indexeddb";

import { gatewaysOf } from "../client/addresses.js";
import { openClient } from "../client/openClient.js";
import type { Client, ClientOptions } from "../client/types.js";
import { platform as node } from "../platform/node.js";
import { type Link, openWebSocketLink } from "../link/webSocketLink.js";
import type { DeviceEvents, Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import type { Patience } from "../tabs/leaderWatch.js";
import { FakeChannels } from "./fakeChannels.js";
import { FakeLocks } from "./fakeLocks.js";

globalThis.IDBKeyRange ??= IDBKeyRange;

export class FakeDevice {
  indexedDB: IDBFactory | undefined = new IDBFactory();
  locks: FakeLocks | undefined = new FakeLocks();
  channels: FakeChannels | undefined = new FakeChannels();
  loadCore = node.loadCore;
  /** The patience of tabs that are opened from now on. */
  patience: Patience = { askMs: 20, unanswered: 5 };
  readonly #links = new Set<{ readonly link: Link; readonly lost: () => void }>();
  readonly #listeners = new Set<DeviceEvents>();
  /** Why the browser does not even try to make a link. */
  forbidden: Error | undefined;
  /** The addresses of links that were asked for. */
  readonly asked: string[] = [];
  /** Callbacks that wait for the next frame, if its tabs are pages with frames. */
  frames: (() => void)[] | undefined;
  #cut = false;

  get attempts(): number {
    return this.asked.length;
  }

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

  /** A storage loses all that it had. */
  async clearStorage(name: string): Promise<void> {
    const opening = (this.indexedDB as IDBFactory).open(name);
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const clearing = opening.result.transaction("entries", "readwrite").objectStore("entries").clear();
    await new Promise((resolve) => (clearing.onsuccess = resolve));
    opening.result.close();
  }

  /** Nobody else reads or writes a storage until the function that comes back is called. */
  async holdStorage(name: string): Promise<() => void> {
    const opening = (this.indexedDB as IDBFactory).open(name);
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const entries = opening.result.transaction("entries", "readwrite").objectStore("entries");
    let held = true;
    const hold = (): void => {
      if (held) {
        entries.count().onsuccess = hold;
      } else {
        opening.result.close();
      }
    };
    hold();
    return () => void (held = false);
  }

  /** What tabs tell each other is lost. */
  set deafTabs(deaf: boolean) {
    if (this.channels !== undefined) {
      this.channels.deaf = deaf;
    }
  }

  /** The pages are drawn. */
  drawFrame(): void {
    this.frames?.splice(0).forEach((callback) => callback());
  }

  /** The tab that was opened so many before hears nothing of the others until the function that comes back is called. */
  standStill(tab: number): () => void {
    return (this.channels as FakeChannels).standStill(tab);
  }

  /** All pages are put aside, as when one goes back in their history. */
  putAside(): void {
    this.#listeners.forEach(({ left }) => left());
  }

  /** All pages are looked at again. */
  wake(): void {
    this.#listeners.forEach(({ awake }) => awake());
  }

  async openTab<S extends Schema, M>(options: ClientOptions<S, M>): Promise<Client<S, M>> {
    const client: unknown = await openClient({ development: true, ...options, gateways: gatewaysOf(options) }, this.#platform());
    return client as Client<S, M>;
  }

  #platform(): Platform {
    const { frames } = this;
    return {
      ...node,
      frame: frames === undefined ? undefined : (callback) => void frames.push(callback),
      loadCore: this.loadCore,
      patience: this.patience,
      indexedDB: this.indexedDB,
      locks: this.locks,
      openChannel: this.channels?.open,
      onDevice: (events) => {
        this.#listeners.add(events);
        return () => void this.#listeners.delete(events);
      },
      openLink: (url, events) => {
        this.asked.push(url);
        if (this.#cut) {
          queueMicrotask(events.lost);
          return { send: () => undefined, close: () => undefined };
        }
        const { forbidden } = this;
        if (forbidden !== undefined) {
          const implementation = function (): never {
            throw forbidden;
          };
          return openWebSocketLink(implementation as never, url, events);
        }
        const link = node.openLink(url, events);
        this.#links.add({ link, lost: events.lost });
        return link;
      },
    };
  }
}
