/** Drives the core of a tab that follows: its messages to and from the tab that leads, and the calls that it stores. */

import { followCore } from "../arguments/module.js";
import type { Storage } from "../storage/storage.js";
import { newTabId, type TabChannel, type TabMessage } from "../tabs/tabChannel.js";
import { errorOf } from "../transaction/scope.js";
import { type Core, OutputKind } from "../wasm/iolite_wasm.js";
import { CoreHost, type CoreHostEvents, type CoreHostOptions } from "./coreHost.js";
import type { OwnOutput } from "./outputs.js";

export interface FollowerHostOptions extends CoreHostOptions {
  readonly channel: TabChannel;
}

export class FollowerHost extends CoreHost {
  readonly role = "follower";
  readonly #tab = newTabId();
  readonly #channel: TabChannel;
  readonly #stopListening: () => void;
  #place: "here" | "aside" = "here";

  static open(storage: Storage, options: FollowerHostOptions, events: CoreHostEvents): FollowerHost {
    const { schema, cacheBytes, platform } = options;
    let core;
    try {
      core = followCore(schema.json, cacheBytes, platform.monotonicMs(), platform.wallMs());
    } catch (thrown) {
      throw errorOf(thrown);
    }
    return new FollowerHost(core, storage, options, events);
  }

  private constructor(core: Core, storage: Storage, options: FollowerHostOptions, events: CoreHostEvents) {
    super(core, storage, options, events);
    this.#channel = options.channel;
    this.#stopListening = options.platform.onDevice({
      awake: () => this.receive(() => this.#comeBack()),
      left: () => this.#leave(),
      networkLost: () => undefined,
    });
  }

  /** Whether what is shown is the leader's. */
  get isFollowing(): boolean {
    return this.callOnly((core) => core.isFollowing());
  }

  override hear(message: TabMessage): void {
    switch (message.kind) {
      case "toTab":
        if (message.to === this.#tab) {
          this.receive(() => this.core.toldByLeader(message.bytes, ...this.now()));
        }
        return;
      case "leads":
        return this.receive(() => {
          this.core.leaderChanged(...this.now());
          this.events.leaderChanged();
        });
      case "toLeader":
      case "gone":
      case "full":
      case "ask":
      case "here":
      case "takes":
      case "paused":
      case "token":
      case "offer":
        return;
    }
  }

  /** Ends the core without closing the storage, which the core that leads goes on with. */
  override end(): void {
    super.end();
    this.#stopListening();
  }

  /** The lead that this tab was about to take was taken from it. */
  async stepDown(): Promise<void> {
    await this.settle();
    this.end();
  }

  override close(): Promise<void> {
    return this.abandon();
  }

  override async abandon(): Promise<void> {
    await super.abandon();
    this.#leave();
  }

  /** The tab that leads can make room. */
  protected override storageFull(): void {
    this.#channel.post({ kind: "full" });
  }

  protected override carryOutOwn(output: OwnOutput): void {
    switch (output.kind) {
      case OutputKind.ToLeader:
        return this.#channel.post({ kind: "toLeader", from: this.#tab, bytes: output.bytes });
      case OutputKind.Connect:
      case OutputKind.Disconnect:
      case OutputKind.Send:
      case OutputKind.BlobsConnect:
      case OutputKind.BlobsDisconnect:
      case OutputKind.BlobsSend:
      case OutputKind.ChunkLoad:
      case OutputKind.ChunkLook:
      case OutputKind.ChunkKeep:
      case OutputKind.Fetched:
      case OutputKind.ToTab:
      case OutputKind.ReadOutbox:
      case OutputKind.Adopted:
        return;
    }
  }

  #leave(): void {
    this.#place = "aside";
    this.#channel.post({ kind: "gone", from: this.#tab });
  }

  /** The leader forgot a page that was put aside. */
  #comeBack(): void {
    if (this.#place === "aside") {
      this.#place = "here";
      this.core.leaderChanged(...this.now());
    }
  }
}
