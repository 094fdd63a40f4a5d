/** Drives the core of the tab that leads: the link to the server, the storage, and the tabs that follow. */

import { openCore } from "../arguments/module.js";
import { newId } from "../id.js";
import type { Link } from "../platform/platform.js";
import type { Storage } from "../storage/storage.js";
import type { SharedState, TabChannel, TabMessage } from "../tabs/tabChannel.js";
import { errorOf } from "../transaction/scope.js";
import { type Core, OutputKind } from "../wasm/iolite_wasm.js";
import { CoreHost, type CoreHostEvents, type CoreHostOptions } from "./coreHost.js";
import type { OwnOutput } from "./outputs.js";

export interface LeaderHostOptions extends CoreHostOptions {
  /** Of the gateways; which is tried is the core's choice. */
  readonly urls: readonly string[];
  /** Milliseconds between two times that it is told of changes. */
  readonly batchMs: number;
  readonly token: string;
  readonly user: string;
  /** Undefined where there are no other tabs. */
  readonly channel: TabChannel | undefined;
  /** What all tabs are told. */
  sharedState(): SharedState;
}

/** The first byte of the keys of calls that wait for a leader: docs/protocols/tabs.md. */
const OUTBOX = "o".charCodeAt(0);

export class LeaderHost extends CoreHost {
  readonly role = "leader";
  readonly #options: LeaderHostOptions;
  readonly #stopListening: () => void;
  #link: Link | undefined;

  /** Opens the core on what is stored. */
  static open(storage: Storage, stored: Uint8Array[], options: LeaderHostOptions, events: CoreHostEvents): LeaderHost {
    const { schema, token, user, urls, batchMs, cacheBytes, platform } = options;
    let core;
    try {
      const outlives = storage.kind !== "memory";
      core = openCore(schema.json, newId(), newId(), token, user, urls.length, batchMs, outlives, stored, cacheBytes, platform.monotonicMs(), platform.wallMs());
    } catch (thrown) {
      throw errorOf(thrown);
    }
    return new LeaderHost(core, storage, options, events);
  }

  private constructor(core: Core, storage: Storage, options: LeaderHostOptions, events: CoreHostEvents) {
    super(core, storage, options, events);
    this.#options = options;
    this.#stopListening = options.platform.onDevice({
      awake: () => this.receive(() => this.#wake()),
      left: () => undefined,
      networkLost: () => this.#loseLink(),
    });
  }

  /** Tells the tabs that follow who leads. They have to be heard from now on. */
  announce(): void {
    this.#options.channel?.post({ kind: "leads", shared: this.#options.sharedState() });
  }

  override hear(message: TabMessage): void {
    switch (message.kind) {
      case "toLeader":
        return this.receive(() => this.core.toldByTab(message.from, message.bytes, ...this.now()));
      case "gone":
        return this.receive(() => this.core.tabGone(message.from, ...this.now()));
      case "full":
        return this.storageFull();
      case "toTab":
      case "leads":
      case "paused":
      case "token":
      case "offer":
        return;
    }
  }

  override async close(): Promise<void> {
    try {
      this.call((core) => core.goOffline());
      await this.settle();
    } finally {
      await this.abandon();
    }
  }

  protected override end(): void {
    super.end();
    this.#stopListening();
    this.#link?.close();
    this.#link = undefined;
  }

  /** The core makes room, and hands out anew what was dropped. */
  protected override storageFull(): void {
    this.receive(() => {
      this.writes.drop();
      this.core.storageFull(...this.now());
    });
  }

  protected override carryOutOwn(output: OwnOutput): void {
    switch (output.kind) {
      case OutputKind.Connect:
        return this.#connect(output.gateway);
      case OutputKind.Disconnect:
        this.#link?.close();
        this.#link = undefined;
        return;
      case OutputKind.Send:
        return this.#link?.send(output.bytes);
      case OutputKind.ToTab:
        return this.#options.channel?.post({
          kind: "toTab",
          to: output.tab,
          bytes: output.bytes,
          shared: this.#options.sharedState(),
        });
      case OutputKind.ReadOutbox:
        return this.writes.readBeginningWith(OUTBOX, (entries) =>
          this.receive(() => this.core.outbox(entries, ...this.now())),
        );
      // The mutation is reported too, and the list of what is pending names its ticket.
      case OutputKind.Adopted:
      case OutputKind.ToLeader:
        return;
    }
  }

  /** A connection that the app does not want stays away. */
  #wake(): void {
    if (!this.#options.sharedState().paused) {
      this.core.goOnline(this.now()[0]);
    }
  }

  #connect(gateway: number): void {
    const url = this.#options.urls[gateway];
    if (url === undefined) {
      throw new Error(`the core chose gateway ${gateway} of ${this.#options.urls.length}`);
    }
    this.#link?.close();
    const link: Link = this.platform.openLink(url, {
      opened: () => this.#receiveFrom(link, () => this.core.linked(...this.now())),
      lost: (reason) => this.#receiveFrom(link, () => this.#forget(reason)),
      frame: (bytes) => this.#receiveFrom(link, () => this.core.frame(bytes, ...this.now())),
    });
    this.#link = link;
  }

  #forget(reason?: string): void {
    this.#link = undefined;
    if (reason !== undefined) {
      this.events.linkTrouble(reason);
    }
    this.core.linkLost(...this.now());
  }

  /** The device says so; the core tries again by itself. */
  #loseLink(): void {
    if (this.#link !== undefined) {
      this.#link.close();
      this.#receiveFrom(this.#link, () => this.#forget());
    }
  }

  /** What an earlier link still has to say is of no use. */
  #receiveFrom(link: Link, input: () => void): void {
    this.receive(() => {
      if (link === this.#link) {
        input();
      }
    });
  }
}
