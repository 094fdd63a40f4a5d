/** Drives the core of the tab that leads: the link to the server, the storage, and the tabs that follow. */

import { openCore } from "../arguments/module.js";
import { decodeArguments, encodeArguments } from "../arguments/stored.js";
import { BlobLink } from "../blob/blobLink.js";
import type { ChunkStore } from "../blob/chunkStore.js";
import type { RawChoice, RawConflict } from "../conflicts/types.js";
import { IoliteError } from "../errors.js";
import { newId } from "../id.js";
import type { Link } from "../link/webSocketLink.js";
import type { Storage } from "../storage/storage.js";
import type { PartOfBlob, SharedState, TabChannel, TabMessage } from "../tabs/tabChannel.js";
import { errorOf } from "../transaction/scope.js";
import { type Core, OutputKind } from "../wasm/iolite_wasm.js";
import type { Gateways } from "./addresses.js";
import { CoreHost, type CoreHostEvents, type CoreHostOptions } from "./coreHost.js";
import type { OwnOutput } from "./outputs.js";

export interface LeaderHostOptions extends CoreHostOptions {
  /** The core chooses which is tried. */
  readonly gateways: Gateways;
  /** Milliseconds between two times that it is told of changes. */
  readonly batchMs: number;
  /** Undefined where the core asks for it. */
  readonly token: string | undefined;
  readonly user: string;
  /** Undefined where there are no other tabs. */
  readonly channel: TabChannel | undefined;
  readonly chunks: ChunkStore;
  /** What all tabs are told. */
  sharedState(): SharedState;
}

/** The first byte of the keys of calls that wait for a leader: docs/protocols/tabs.md. */
const OUTBOX = "o".charCodeAt(0);

export class LeaderHost extends CoreHost {
  readonly role = "leader";
  readonly #options: LeaderHostOptions;
  /** The core names a gateway by its place in this list. */
  readonly #urls: readonly string[];
  readonly #stopListening: () => void;
  readonly #storage: Storage;
  /** Chunks, and the link to `/blobs`. */
  readonly blobs: BlobLink;
  #link: Link | undefined;
  /** Counts what was asked for of the link. */
  #connecting = 0;
  /** Another tab leads: nothing is sent any more. */
  #isOvertaken = false;

  /** Opens the core on what is stored. */
  static open(storage: Storage, stored: Uint8Array[], options: LeaderHostOptions, events: CoreHostEvents): LeaderHost {
    const { schema, token, user, gateways, batchMs, cacheBytes, platform } = options;
    const counts = Uint16Array.from(gateways, (own) => own.length);
    let core;
    try {
      const outlives = storage.kind !== "memory";
      core = openCore(schema.json, newId(), newId(), token, user, counts, batchMs, outlives, stored, cacheBytes, platform.monotonicMs(), platform.wallMs());
    } catch (thrown) {
      throw errorOf(thrown);
    }
    return new LeaderHost(core, storage, options, events);
  }

  private constructor(core: Core, storage: Storage, options: LeaderHostOptions, events: CoreHostEvents) {
    super(core, storage, options, events);
    this.#storage = storage;
    this.#options = options;
    this.#urls = options.gateways.flat();
    this.blobs = new BlobLink(options.platform, this.#urls, options.chunks, {
      linked: () => this.receive(() => this.core.blobsLinked(...this.now())),
      lost: () => this.receive(() => this.core.blobsLost(...this.now())),
      frame: (bytes) => this.receive(() => this.core.blobsFrame(bytes, ...this.now())),
    });
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
      case "fetch":
        return this.receive(() => this.#fetchFor(message));
      case "askConflicts":
        return this.receive(() => this.tellConflicts(message.table));
      case "resolve":
        return this.receive(() => this.#resolveFor(message));
      case "toTab":
      case "leads":
      case "ask":
      case "here":
      case "takes":
      case "paused":
      case "token":
      case "offer":
      case "signOut":
      case "staysIn":
      case "signedOut":
      case "fetched":
      case "conflicts":
      case "resolved":
        return;
    }
  }

  override conflicts(table: string): readonly RawConflict[] {
    return this.callOnly((core) => core.conflicts(this.numberOf(table))) as RawConflict[];
  }

  override resolve(table: string, choices: readonly RawChoice[]): Promise<void> {
    try {
      this.call((core, _, wallMs) => core.resolve(this.numberOf(table), [...choices], wallMs));
      return Promise.resolve();
    } catch (error) {
      // Nothing runs, so it is no refusal of a transaction.
      const isRefusal = error instanceof IoliteError && error.code === "transaction";
      return Promise.reject(isRefusal ? new IoliteError("call", error.message) : (error as Error));
    }
  }

  /** Tells the tabs that follow of the conflicts of a table. */
  tellConflicts(table: string): void {
    this.#options.channel?.post({ kind: "conflicts", table, list: encodeArguments(this.conflicts(table)) });
  }

  #resolveFor({ from, number, table, choices }: Extract<TabMessage, { readonly kind: "resolve" }>): void {
    const tell = (problem: string): void => this.#options.channel?.post({ kind: "resolved", to: from, number, problem });
    this.resolve(table, decodeArguments(choices) as RawChoice[]).then(
      () => tell(""),
      (error: unknown) => tell(error instanceof Error ? error.message : String(error)),
    );
  }

  override fetch(part: PartOfBlob, ended: (problem: string | undefined) => void): () => void {
    const download = this.beginFetch(part);
    this.blobs.onFetched(download, ended);
    this.drain();
    return () => {
      this.blobs.forget(download);
      this.call((core) => core.stopFetching(download));
    };
  }

  /** A tab that follows reads the chunks where this one keeps them. */
  #fetchFor({ from, number, ...part }: Extract<TabMessage, { readonly kind: "fetch" }>): void {
    const tell = (problem = ""): void => this.#options.channel?.post({ kind: "fetched", to: from, number, problem });
    try {
      this.blobs.onFetched(this.beginFetch(part), tell);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
    }
  }

  /** How many calls of tabs wait in the outbox, when all that this tab has to store is stored. */
  outboxLength(): Promise<number> {
    return new Promise((resolve) => this.writes.readBeginningWith(OUTBOX, (entries) => resolve(entries.length / 2)));
  }

  override async close(): Promise<void> {
    try {
      this.call((core) => core.goOffline());
      await this.settle();
    } finally {
      await this.abandon();
    }
  }

  /** Another tab leads. Resolves when it is known what of this tab's own is stored; then the core has ended. The storage stays open. */
  async stepDown(): Promise<void> {
    this.#isOvertaken = true;
    this.#cutOff();
    await this.settle();
    super.end();
  }

  protected override end(): void {
    super.end();
    this.#cutOff();
  }

  #cutOff(): void {
    this.#stopListening();
    this.#disconnect();
    this.blobs.end();
  }

  /** The core makes room, and hands out anew what was dropped. */
  protected override storageFull(): void {
    this.receive(() => {
      this.writes.drop();
      this.core.storageFull(...this.now());
    });
  }

  protected override carryOutOwn(output: OwnOutput): void {
    if (this.#isOvertaken) {
      return;
    }
    switch (output.kind) {
      case OutputKind.Connect:
        return this.#connect(output.gateway);
      case OutputKind.Disconnect:
        return this.#disconnect();
      case OutputKind.Send:
        return this.#link?.send(output.bytes);
      case OutputKind.BlobsConnect:
        return this.blobs.connect(output.gateway);
      case OutputKind.BlobsDisconnect:
        return this.blobs.disconnect();
      case OutputKind.BlobsSend:
        return this.blobs.send(output.bytes);
      case OutputKind.ChunkLoad:
        return this.blobs.load(output.chunk, (content) =>
          this.receive(() => this.core.chunkLoaded(output.asker, output.chunk, content, ...this.now())),
        );
      case OutputKind.ChunkLook:
        return this.blobs.load(output.chunk, (content) =>
          this.receive(() => this.core.chunkLooked(output.asker, output.chunk, content, ...this.now())),
        );
      case OutputKind.ChunkKeep:
        return this.blobs.keep(output.chunk, output.bytes);
      case OutputKind.Fetched:
        return this.blobs.fetched(output.download, output.problem);
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
      case OutputKind.TokenWanted:
        return this.events.tokenWanted();
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

  /** A tab that stood still may find only now that another one leads. That one's session, which has the same name, is not to be ended. */
  #connect(gateway: number): void {
    const url = this.#urls[gateway];
    if (url === undefined) {
      throw new Error(`the core chose gateway ${gateway} of ${this.#urls.length}`);
    }
    this.#disconnect();
    const connecting = this.#connecting;
    if (this.#storage.kind === "memory") {
      return this.#makeLink(url);
    }
    const answered = (leads: boolean): void => {
      if (connecting !== this.#connecting) {
        return;
      }
      if (leads) {
        this.#makeLink(url);
      } else {
        this.events.overtaken();
      }
    };
    // A storage that cannot be read now says nothing of other tabs.
    this.#storage.leads().then(answered, () => answered(true));
  }

  #disconnect(): void {
    this.#connecting += 1;
    this.#link?.close();
    this.#link = undefined;
  }

  #makeLink(url: string): void {
    const link: Link = this.platform.openLink(url, {
      opened: () => this.#receiveFrom(link, () => this.core.linked(...this.now())),
      lost: (why) => this.#receiveFrom(link, () => this.#forget(why)),
      frame: (bytes) => this.#receiveFrom(link, () => this.core.frame(bytes, ...this.now())),
    });
    this.#link = link;
  }

  #forget(why?: string): void {
    this.#link = undefined;
    if (why !== undefined) {
      this.events.linkTrouble(why);
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
