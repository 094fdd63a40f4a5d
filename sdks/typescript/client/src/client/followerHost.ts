/** Drives the core of a tab that follows: its messages to and from the tab that leads, and the calls that it stores. */

import { followCore } from "../arguments/module.js";
import { decodeArguments, encodeArguments } from "../arguments/stored.js";
import type { RawChoice, RawConflict } from "../conflicts/types.js";
import { IoliteError } from "../errors.js";
import type { Storage } from "../storage/storage.js";
import { newTabId, type PartOfBlob, type TabChannel, type TabMessage } from "../tabs/tabChannel.js";
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
  readonly #fetches = new Map<number, { readonly ask: () => void; readonly ended: (problem: string | undefined) => void }>();
  #lastFetch = 0;
  /** By table, the conflicts that the tab that leads told of. */
  readonly #conflicts = new Map<string, readonly RawConflict[]>();
  readonly #resolving = new Map<number, (problem: string) => void>();

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
        this.#fetches.forEach(({ ask }) => ask());
        this.#conflicts.forEach((_, table) => this.#channel.post({ kind: "askConflicts", table }));
        return this.receive(() => {
          this.core.leaderChanged(...this.now());
          this.events.leaderChanged();
        });
      case "fetched":
        if (message.to === this.#tab) {
          this.#fetches.get(message.number)?.ended(message.problem === "" ? undefined : message.problem);
          this.#fetches.delete(message.number);
        }
        return;
      case "conflicts":
        if (this.#conflicts.has(message.table)) {
          this.#conflicts.set(message.table, decodeArguments(message.list) as RawConflict[]);
          this.events.told({ kind: OutputKind.Conflicts, table: message.table });
          this.events.worked();
        }
        return;
      case "resolved":
        if (message.to === this.#tab) {
          this.#resolving.get(message.number)?.(message.problem);
          this.#resolving.delete(message.number);
        }
        return;
      case "askConflicts":
      case "resolve":
      case "toLeader":
      case "gone":
      case "full":
      case "ask":
      case "here":
      case "takes":
      case "paused":
      case "token":
      case "offer":
      case "signOut":
      case "staysIn":
      case "signedOut":
      case "fetch":
        return;
    }
  }

  override conflicts(table: string): readonly RawConflict[] {
    const known = this.#conflicts.get(table);
    if (known === undefined) {
      this.#conflicts.set(table, []);
      this.#channel.post({ kind: "askConflicts", table });
    }
    return known ?? [];
  }

  override resolve(table: string, choices: readonly RawChoice[]): Promise<void> {
    const number = ++this.#lastFetch;
    return new Promise((resolve, reject) => {
      this.#resolving.set(number, (problem) => (problem === "" ? resolve() : reject(new IoliteError("call", problem))));
      this.#channel.post({ kind: "resolve", from: this.#tab, number, table, choices: encodeArguments(choices) });
    });
  }

  /** The tab that leads fetches; one that takes the lead meanwhile is asked anew. */
  override fetch(part: PartOfBlob, ended: (problem: string | undefined) => void): () => void {
    const number = ++this.#lastFetch;
    const ask = (): void => this.#channel.post({ kind: "fetch", from: this.#tab, number, ...part });
    this.#fetches.set(number, { ask, ended });
    ask();
    return () => void this.#fetches.delete(number);
  }

  /** Ends the core without closing the storage, which the core that leads goes on with. */
  override end(): void {
    super.end();
    this.#stopListening();
    this.#fetches.forEach(({ ended }) => ended("the client was closed, or this tab leads now: read it again"));
    this.#fetches.clear();
    this.#resolving.forEach((ended) => ended("the client was closed, or this tab leads now: list the conflicts again"));
    this.#resolving.clear();
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
      case OutputKind.TokenWanted:
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
