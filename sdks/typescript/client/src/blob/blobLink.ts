/**
 * The link to `/blobs`, and the chunks that the core asks for.
 *
 * Invariant: what the core asks of the chunks is done in order, so a chunk is kept before a fetch is said to have ended.
 */

import type { Link } from "../link/webSocketLink.js";
import type { Platform } from "../platform/platform.js";
import { isChunk } from "../wasm/iolite_wasm.js";
import type { ChunkStore } from "./chunkStore.js";

export interface BlobLinkEvents {
  linked(): void;
  lost(): void;
  frame(bytes: Uint8Array): void;
}

type Ended = (problem: string | undefined) => void;

export class BlobLink {
  readonly #platform: Platform;
  readonly #urls: readonly string[];
  readonly #chunks: ChunkStore;
  readonly #events: BlobLinkEvents;
  readonly #fetches = new Map<number, Ended>();
  #link: Link | undefined;
  #work: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(platform: Platform, urls: readonly string[], chunks: ChunkStore, events: BlobLinkEvents) {
    this.#platform = platform;
    this.#urls = urls.map(besideSync);
    this.#chunks = chunks;
    this.#events = events;
  }

  connect(gateway: number): void {
    const url = this.#urls[gateway];
    if (url === undefined) {
      throw new Error(`the core chose gateway ${gateway} of ${this.#urls.length}`);
    }
    this.disconnect();
    const link: Link = this.#platform.openLink(url, {
      opened: () => this.#from(link, () => this.#events.linked()),
      lost: () =>
        this.#from(link, () => {
          this.#link = undefined;
          this.#events.lost();
        }),
      frame: (bytes) => this.#from(link, () => this.#events.frame(bytes)),
    });
    this.#link = link;
  }

  disconnect(): void {
    this.#link?.close();
    this.#link = undefined;
  }

  send(bytes: Uint8Array): void {
    this.#link?.send(bytes);
  }

  /** A chunk that is not what its id says counts as none. */
  load(chunk: string, answer: (content: Uint8Array | undefined) => void): void {
    this.#next(async () => {
      const content = await this.#chunks.load(chunk);
      answer(content !== undefined && isChunk(chunk, content) ? content : undefined);
    });
  }

  /** A chunk that has no room is fetched again by who needs it. */
  keep(chunk: string, content: Uint8Array): void {
    this.#next(() => this.#chunks.keep(chunk, content).catch(() => undefined));
  }

  /** Calls back when a fetch has ended, with what was wrong. */
  onFetched(download: number, ended: Ended): void {
    this.#fetches.set(download, ended);
  }

  fetched(download: number, problem: string | undefined): void {
    this.#next(() => {
      this.#fetches.get(download)?.(problem);
      this.#fetches.delete(download);
      return Promise.resolve();
    });
  }

  forget(download: number): void {
    this.#fetches.delete(download);
  }

  end(): void {
    this.#isOver = true;
    this.disconnect();
    for (const ended of this.#fetches.values()) {
      ended("the client was closed, or another tab leads now: read it again");
    }
    this.#fetches.clear();
  }

  #next(work: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#isOver ? undefined : work()));
  }

  #from(link: Link, report: () => void): void {
    if (link === this.#link) {
      report();
    }
  }
}

/** The address of `/blobs` beside that of `/sync`. */
function besideSync(url: string): string {
  return new URL("blobs", url).href;
}
