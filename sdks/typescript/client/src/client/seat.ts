/**
 * The seat of a tab among those of one client: the core that it works through, and how it takes the lead.
 *
 * Invariant: what the app holds (observations, handles, lists) is the same object before and after that.
 */

import { type ChunkStore, indexedDbChunks, memoryChunks } from "../blob/chunkStore.js";
import { TabConflicts } from "../conflicts/conflicts.js";
import { IoliteError } from "../errors.js";
import type { Mutator } from "../mutators.js";
import { ALONE, type Leadership, seekLeadership } from "../tabs/leadership.js";
import { LeaderWatch, PATIENCE } from "../tabs/leaderWatch.js";
import { TabChannel, type TabMessage } from "../tabs/tabChannel.js";
import { Tokens, type TokenSource } from "../tabs/tokens.js";
import { WriterMark } from "../tabs/writerMark.js";
import type { Closure } from "../transaction/runClosure.js";
import { type Core, OutputKind } from "../wasm/iolite_wasm.js";
import { closureOfCall } from "./closureOfCall.js";
import { ConnectionWatch } from "./connectionWatch.js";
import type { CoreHostEvents } from "./coreHost.js";
import { FollowerHost } from "./followerHost.js";
import { LeaderHost } from "./leaderHost.js";
import { Listeners } from "./listeners.js";
import { Logs } from "./logs.js";
import { MutationBook } from "./mutationBook.js";
import { Notifier } from "./notifier.js";
import { Observations } from "./observations.js";
import type { OneObservation } from "./observation.js";
import type { News } from "./outputs.js";
import type { PlaceOfTab, TabOptions } from "./placeOfTab.js";
import { Settling } from "./settling.js";
import { SignOut } from "./signOut.js";
import { callAgain, takeOverCalls, tellDismissed } from "./takeOver.js";
import { type TokenAnswers, TokenQuestions } from "./tokenQuestions.js";
import type { PendingMutation, RefusedMutation, SettledMutation } from "./types.js";
import { ViewsWatch } from "./viewsWatch.js";
import { Watched } from "./watched.js";

const OTHER_VERSION = "another version of the app leads in another tab: reload this tab, or close the other";

const SIGNED_OUT = "the user signed out in another tab: load this page again";

export class Seat implements CoreHostEvents {
  readonly options: TabOptions;
  readonly place: PlaceOfTab;
  readonly notifier = new Notifier();
  readonly connection: ConnectionWatch;
  readonly observations = new Observations(this.notifier);
  readonly settling = new Settling(this);
  readonly views = new ViewsWatch(this.notifier);
  readonly book: MutationBook;
  readonly logs: Logs;
  readonly conflicts: TabConflicts;
  readonly chunks: ChunkStore;
  readonly pending: Watched<readonly PendingMutation[]>;
  readonly refused: Watched<readonly RefusedMutation[]>;
  readonly settled = new Listeners<SettledMutation>();
  /** The data centre that serves this tab, or `moving`. Undefined in a tab that follows: only the core that leads tells of it. */
  readonly centre = new Watched(this.notifier, () => this.#centre);
  readonly #mutators: Readonly<Record<string, Mutator>>;
  readonly #channel: TabChannel | undefined;
  /** The token that it was opened with, or the app's function. */
  readonly #tokens: TokenSource;
  readonly #signOut: SignOut;
  #centre: string | undefined;
  #storageMessage: string | undefined;
  #linkMessage: string | undefined;
  #host: LeaderHost | FollowerHost | undefined;
  #leadership: Leadership;
  /** Undefined where there are no other tabs. */
  readonly #writer: WriterMark | undefined;
  /** While this tab follows. */
  #watch: LeaderWatch | undefined;
  /** What this tab does to lead and to follow, one after the other. It has to end before the storage is closed and the lead given back. */
  #turns: Promise<void> = Promise.resolve();
  #abandoning: Promise<void> | undefined;
  #isOpening = false;
  #failure: IoliteError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: TabOptions, place: PlaceOfTab) {
    this.options = options;
    this.place = place;
    this.#mutators = options.mutators.byName as Record<string, Mutator>;
    this.logs = new Logs(this);
    this.conflicts = new TabConflicts(this);
    const { token } = options;
    this.#tokens = typeof token === "string" ? new Tokens(token) : new TokenQuestions(token, this.#tokenAnswers());
    this.#signOut = new SignOut(this.#placeOfSignOut());
    const { platform, name, chosen } = place;
    this.#leadership = place.leadership;
    this.#writer = place.leadership === ALONE || platform.locks === undefined ? undefined : new WriterMark(platform.locks, name);
    this.#storageMessage = chosen.message;
    const { indexedDB } = platform;
    this.chunks = chosen.storage.kind === "memory" || indexedDB === undefined ? memoryChunks() : indexedDbChunks(indexedDB, `${name}/chunks`);
    this.connection = new ConnectionWatch(this.notifier, chosen.storage.kind);
    this.connection.change({ paused: options.paused === true, message: chosen.message });
    if (chosen.storage.kind === "indexeddb" && platform.openChannel !== undefined) {
      this.#channel = new TabChannel(platform.openChannel, name, (message) => this.#hear(message));
    }
    const settled = (mutation: SettledMutation): void => this.settled.deliver(() => mutation);
    const follows = Object.values(options.schema.tables).some(({ policy }) => policy.delivered || policy.log !== undefined);
    this.book = new MutationBook({ notifier: this.notifier, development: options.development, follows, settled });
    this.pending = new Watched(this.notifier, () => this.book.pending());
    this.refused = new Watched(this.notifier, () => this.book.refused());
    void chosen.storage.lost.then((reason) => {
      this.book.lose();
      this.#fail(new IoliteError("storage", reason));
    });
    if (this.#channel !== undefined && !this.#leadership.isWaiting) {
      this.#heedTheft();
    }
  }

  /** Undefined while this tab takes the lead, and once it is over. */
  get host(): LeaderHost | FollowerHost | undefined {
    return this.#host;
  }

  /** Whether there will be no core any more. */
  get isOver(): boolean {
    return this.#closing !== undefined || this.#failure !== undefined;
  }

  /** @throws once the client is closed. */
  checkOpen(): void {
    if (this.#closing !== undefined) {
      throw new IoliteError("closed", "the client was closed");
    }
  }

  /** @throws also when there will be no core any more. */
  checkUsable(): void {
    this.checkOpen();
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
  }

  /**
   * Takes the place that there is among the tabs. Where this tab leads, it resolves when what is stored is loaded.
   *
   * @throws when what is stored cannot be used.
   */
  async begin(): Promise<void> {
    if (this.#leadership.isWaiting) {
      this.follow();
      return;
    }
    const led = this.#lead(this.#leadership);
    // The caller closes this tab then.
    this.#turns = led.catch(() => undefined);
    await led;
  }

  #next(turn: () => Promise<void>): void {
    const begun = this.#turns.then(() => (this.isOver ? undefined : turn()));
    this.#turns = begun.catch((error: unknown) => this.#fail(error));
  }

  /** @throws while another version of the app leads: that tab does not answer what was called here. */
  checkAnswered(): void {
    if (this.#host !== undefined && this.connection.state.role === "waiting") {
      throw new IoliteError("not-ready", OTHER_VERSION);
    }
  }

  /** Another tab leads: works through that one, and leads when it is gone, or stands still. */
  follow(): FollowerHost {
    if (this.#channel === undefined) {
      throw new Error("a tab follows where there is a channel");
    }
    const { schema, development, cacheBytes } = this.options;
    const { platform, chosen } = this.place;
    const host = FollowerHost.open(chosen.storage, { platform, schema, development, cacheBytes, channel: this.#channel }, this);
    this.#host = host;
    this.book.attach(host.listings, host.role);
    this.connection.change({ role: "follower", status: "connecting" });
    this.#servedBy(undefined);
    this.observations.attach(host);
    this.conflicts.attached();
    this.#signOut.attached();
    host.drain();
    const leadership = this.#leadership;
    this.#watch = new LeaderWatch(platform.patience ?? PATIENCE, {
      ask: () => this.#channel?.post({ kind: "ask" }),
      standsStill: () => void this.#takeFromStill(leadership),
    });
    void leadership.won.then(() => {
      if (!this.isOver) {
        this.#heedTheft();
        this.#next(() => this.#lead(leadership));
      }
    });
    return host;
  }

  /** Not from a tab of an older release, which would go on to write. */
  async #takeFromStill(leadership: Leadership): Promise<void> {
    const isFenced = await this.place.chosen.storage.isFenced().catch(() => false);
    if (isFenced && !this.isOver && this.#leadership === leadership) {
      this.#channel?.post({ kind: "takes" });
      leadership.take();
    }
  }

  #heedTheft(): void {
    const leadership = this.#leadership;
    void leadership.robbed.then(() => this.#stepDown(leadership));
  }

  /** Another tab has taken the lead from this one, which did not run. */
  overtaken(): void {
    if (this.#host?.role === "leader") {
      this.#stepDown(this.#leadership);
    }
  }

  leaderChanged(): void {
    this.book.forgetCounters();
    this.#signOut.attached();
  }

  /** One after the other with what this tab does to lead. */
  #stepDown(leadership: Leadership): void {
    if (this.isOver || this.#leadership !== leadership || leadership === ALONE) {
      return;
    }
    // Until this tab follows it hears from several sides that it was robbed, and steps down once.
    this.#leadership = ALONE;
    this.#next(() => this.#followAgain(leadership));
  }

  async #followAgain(leadership: Leadership): Promise<void> {
    const led = this.#vacate();
    await led?.stepDown();
    this.#writer?.end();
    leadership.release();
    const { platform, name, chosen } = this.place;
    chosen.storage.follow();
    this.book.handOver();
    if (this.isOver || platform.locks === undefined) {
      return;
    }
    this.#leadership = await seekLeadership(platform.locks, name);
    if (this.isOver) {
      return this.#leadership.release();
    }
    if (this.#leadership.isWaiting) {
      const host = this.follow();
      callAgain(this.book, host);
      host.drain();
    } else {
      this.#heedTheft();
      await this.#lead(this.#leadership);
    }
    this.changed();
  }

  /**
   * This tab leads now: opens the core on what is stored, and goes on with what was there before. What is called until then is kept, since
   * a call that the core which ends would store could be stored, and made again.
   */
  async #lead(leadership: Leadership): Promise<void> {
    // It may be robbed before and after each wait. Then it follows next.
    const isRobbed = (): boolean => this.#leadership !== leadership;
    if (isRobbed()) {
      return;
    }
    this.#watch?.stop();
    const followed = this.#vacate();
    if (followed?.role === "follower") {
      await followed.settle();
      followed.end();
    }
    // It holds the lead and runs: who asks meanwhile is not to take it.
    this.#isOpening = true;
    const stored = await this.#openStorage(leadership).finally(() => (this.#isOpening = false));
    if (stored !== undefined && !this.isOver && !isRobbed()) {
      this.#goOn(this.#openLeader(stored), followed === undefined ? "first" : "again");
    }
  }

  /** Undefined if the lead was lost before. */
  async #openStorage(leadership: Leadership): Promise<Uint8Array[] | undefined> {
    const writes = await this.#writer?.begin();
    if (this.isOver || this.#leadership !== leadership) {
      return undefined;
    }
    return this.place.chosen.storage.lead(leadership.isTaken || writes === "beside others" ? "taken" : "given");
  }

  #goOn(host: LeaderHost, time: "first" | "again"): void {
    this.#host = host;
    this.book.attach(host.listings, host.role);
    this.logs.attach(host);
    takeOverCalls(this.book, host);
    this.connection.change({ role: "leader", refusal: undefined, message: this.#storageMessage });
    this.connection.change({ status: time === "first" || this.connection.state.paused ? "offline" : "connecting" });
    this.observations.attach(host);
    this.conflicts.attached();
    if (this.connection.state.paused) {
      host.callOnly((core) => core.goOffline());
    }
    host.drain();
    host.announce();
    this.changed();
    this.#signOut.attached();
    if (this.connection.state.storage === "indexeddb") {
      this.#askForPersistence();
    }
  }

  /** This tab can work no more, until its page is loaded again. Another one may lead. */
  #fail(error: unknown, data: "stays" | "goes" = "stays"): void {
    if (this.isOver) {
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    this.#failure = error instanceof IoliteError ? error : new IoliteError("storage", message, { cause: error });
    this.#abandoning = this.#abandon(this.#vacate(), data);
    this.connection.change({ role: "waiting", status: "offline", refusal: undefined, message });
    this.#giveUp(this.#failure);
  }

  async #abandon(host: LeaderHost | FollowerHost | undefined, data: "stays" | "goes"): Promise<void> {
    await host?.abandon();
    if (data === "goes" && host?.role === "leader") {
      // The tab that signs out removes it, too, and says so if it cannot be.
      await this.#erase().catch(() => undefined);
    }
    this.#letGo();
  }

  async #erase(): Promise<void> {
    const { storage } = this.place.chosen;
    storage.close();
    this.chunks.close();
    try {
      await Promise.all([storage.erase(), this.chunks.erase()]);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new IoliteError("storage", `what this device keeps of the user could not be removed, open the client and sign out again: ${why}`, { cause: error });
    }
  }

  /** From now on there is no core: what is called and observed is kept for the next one, if there is one. */
  #vacate(): LeaderHost | FollowerHost | undefined {
    const host = this.#host;
    this.#watch?.stop();
    if (host !== undefined) {
      this.book.detach();
      this.observations.detach();
      this.#host = undefined;
    }
    return host;
  }

  #openLeader(stored: Uint8Array[]): LeaderHost {
    const { gateways, batch, schema, user, development, cacheBytes } = this.options;
    const { platform, chosen } = this.place;
    const sharedState = () => ({ paused: this.connection.state.paused, persistent: this.connection.state.persistent });
    const { chunks } = this;
    const options = { platform, chunks, gateways, batchMs: batch?.ms ?? 0, token: this.#tokens.current, user, schema, development, cacheBytes, channel: this.#channel, sharedState };
    return LeaderHost.open(chosen.storage, stored, options, this);
  }

  /** The app wants silence, or a connection again: in all tabs. */
  pause(paused: boolean): void {
    this.#channel?.post({ kind: "paused", paused });
    this.#bePaused(paused);
  }

  setToken(token: string): void {
    this.#channel?.post({ kind: "token", token });
    this.#useToken(token);
  }

  signOut(discard: boolean): Promise<void> {
    return this.#signOut.signOut(discard);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close("stays");
    return this.#closing;
  }

  async #close(data: "stays" | "goes"): Promise<void> {
    // Waits also where there is nothing to wait for: a closure may have asked for this, and the core has to end its work first.
    await this.#turns;
    await this.#abandoning;
    this.#watch?.stop();
    try {
      await this.#vacate()?.close();
      if (data === "goes") {
        this.connection.change({ status: "offline", refusal: undefined, message: undefined });
        await this.#erase();
      }
    } finally {
      this.#giveUp(new IoliteError("closed", "the client was closed before this was done"));
      this.#letGo();
      this.#channel?.close();
    }
  }

  /** Nobody hears any more of what is not done yet. */
  #giveUp(error: IoliteError): void {
    this.book.giveUp(error);
    this.settling.wake();
    this.#signOut.giveUp(error);
    this.observations.giveUp(error);
    this.notifier.flush();
  }

  /** Not before all is written: who leads next reads the storage. */
  #letGo(): void {
    this.place.chosen.storage.close();
    this.chunks.close();
    this.#writer?.end();
    this.#leadership.release();
  }

  // What the core's host asks for.

  closureOf(counter: number, name: string | undefined, args: string | undefined): Closure | undefined {
    if (name === undefined) {
      return this.book.transactionOf(counter);
    }
    const mutator = Object.hasOwn(this.#mutators, name) ? this.#mutators[name] : undefined;
    return mutator === undefined ? this.logs.closureOf(name, args) : closureOfCall(mutator, args);
  }

  replayOf(name: string, args: string): Closure | undefined {
    return this.logs.closureOf(name, args);
  }

  reactionOf(reaction: number): Closure | undefined {
    return this.observations.of(reaction)?.closure;
  }

  mutationRan(...ran: Parameters<MutationBook["ran"]>): void {
    this.book.ran(...ran);
  }

  reactionRan(reaction: number, result: Parameters<OneObservation["ran"]>[0]): void {
    this.observations.of(reaction)?.ran(result);
  }

  told(output: News): void {
    switch (output.kind) {
      case OutputKind.Mutation:
        this.book.became(output.counter, output.status, output.attempt);
        this.#listsChanged();
        break;
      case OutputKind.Delivered:
        this.book.delivered(output.counter);
        break;
      case OutputKind.LogStopped:
        this.logs.stopped(output.log, output.reason);
        break;
      case OutputKind.LogDiffers:
        this.logs.differs(output.log, output.index);
        break;
      case OutputKind.LogMembers:
        this.logs.membersChanged(output.log);
        break;
      case OutputKind.Conflicts:
        this.conflicts.changed(output.table);
        if (this.#host?.role === "leader") {
          this.#host.tellConflicts(output.table);
        }
        break;
      case OutputKind.Call:
        this.book.callBecame(output.ticket, output.status);
        this.#listsChanged();
        break;
      case OutputKind.Connection:
        this.#connected(output);
        break;
      case OutputKind.Centre:
        this.#servedBy(output.centre ?? "moving");
        break;
      case OutputKind.Unavailable:
        this.observations.of(output.reaction)?.reachable(false);
        break;
      case OutputKind.ReactionFailed:
        this.observations.of(output.reaction)?.failed(output.message);
        break;
    }
  }

  storageTrouble(message: string | undefined): void {
    this.#storageMessage = message;
    if (this.#failure === undefined) {
      this.connection.change({ message: message ?? this.#linkMessage });
      this.notifier.flush();
    }
  }

  linkTrouble(message: string): void {
    this.#linkMessage = message;
  }

  worked(): void {
    if (this.book.wasDismissed()) {
      this.refused.invalidate();
    }
    this.notifier.flush();
  }

  broke(error: unknown): void {
    const message = `the client has a bug and stopped, load the page again: ${String(error)}`;
    this.#fail(new IoliteError("failed", message, { cause: error }));
  }

  #connected({ status, refusal, message }: News & { readonly kind: OutputKind.Connection }): void {
    this.#linkMessage = status === "online" ? undefined : this.#linkMessage;
    this.connection.change({ status, refusal, message: message ?? this.#storageMessage ?? this.#linkMessage });
    if (this.#host?.role === "follower") {
      const refused = status === "refused" && !this.#host.isFollowing;
      this.connection.change({ role: refused ? "waiting" : "follower" });
      // Another leader may list other mutations without telling of each, and what the one before did not hear of.
      this.#listsChanged();
      tellDismissed(this.book, this.#host);
    }
    this.observations.connected(status);
    if (refusal === "unauthorized") {
      this.#helpWithToken();
    }
  }

  #servedBy(centre: string | undefined): void {
    if (this.#centre !== centre) {
      this.#centre = centre;
      this.centre.invalidate();
    }
  }

  tokenWanted(): void {
    this.#tokens.wanted();
  }

  /** A tab that does not lead by then has no use for the answer: the one that leads asks its own function. */
  #tokenAnswers(): TokenAnswers {
    const tell = (use: (core: Core, monotonicMs: number) => void): void => {
      if (this.#host?.role === "leader") {
        this.#host.call(use);
        this.notifier.flush();
      }
    };
    return {
      token: (token) => tell((core, monotonicMs) => core.setToken(token, monotonicMs)),
      failed: (message) => tell((core, monotonicMs) => core.tokenFailed(message, monotonicMs)),
    };
  }

  #placeOfSignOut(): ConstructorParameters<typeof SignOut>[0] {
    const host = (): LeaderHost | FollowerHost | undefined => this.#host;
    return {
      get host() {
        return host();
      },
      checkUsable: () => this.checkUsable(),
      checkAnswered: () => this.checkAnswered(),
      placed: () => this.#turns,
      pendingCount: () => this.book.pending().length,
      conflictTables: Object.keys(this.conflicts.byTable),
      post: (message) => this.#channel?.post(message),
      endAndErase: () => (this.#closing ??= this.#close("goes")),
      endForOther: () => this.#fail(new IoliteError("closed", SIGNED_OUT), "goes"),
    };
  }

  /** The tab that leads tries what the others have. */
  #helpWithToken(): void {
    const { current } = this.#tokens;
    if (this.#host?.role === "follower") {
      return current === undefined ? undefined : this.#channel?.post({ kind: "offer", token: current });
    }
    const token = this.#tokens.next();
    if (token !== undefined) {
      this.#host?.call((core, monotonicMs) => core.setToken(token, monotonicMs));
    }
  }

  #hear(message: TabMessage): void {
    switch (message.kind) {
      case "toTab":
        this.connection.change(message.shared);
        break;
      case "ask":
        if (this.#host?.role === "leader" || this.#isOpening) {
          this.#channel?.post({ kind: "here" });
        }
        break;
      case "here":
      case "takes":
        this.#watch?.heard();
        break;
      case "leads":
        this.#watch?.heard();
        this.connection.change(message.shared);
        this.observations.carryOver();
        break;
      case "paused":
        this.#bePaused(message.paused);
        // So that the last word that all tabs hear of it is the same.
        if (this.#host?.role === "leader") {
          this.#channel?.post(message);
        }
        break;
      case "token":
        this.#useToken(message.token);
        break;
      case "offer":
        this.#tokens.offer(message.token);
        if (this.#host?.role === "leader" && this.connection.state.refusal === "unauthorized") {
          this.#helpWithToken();
        }
        break;
      case "signOut":
      case "staysIn":
      case "signedOut":
        this.#signOut.hear(message);
        break;
      case "toLeader":
      case "gone":
      case "full":
      case "fetch":
      case "fetched":
        break;
    }
    this.#host?.hear(message);
    this.notifier.flush();
  }

  #bePaused(paused: boolean): void {
    this.connection.change({ paused });
    if (this.#host?.role === "leader") {
      this.#host.call((core, monotonicMs) => (paused ? core.goOffline() : core.goOnline(monotonicMs)));
    }
    this.notifier.flush();
  }

  /** The tab that leads uses it; the others have it in case they lead. */
  #useToken(token: string): void {
    this.#tokens.set(token);
    if (this.#host?.role === "leader") {
      this.#host.call((core, monotonicMs) => core.setToken(token, monotonicMs));
    }
    this.notifier.flush();
  }

  /** What is pending is another list now. */
  changed(): void {
    this.pending.invalidate();
    this.settling.wake();
    this.notifier.flush();
  }

  #listsChanged(): void {
    this.settling.wake();
    this.pending.invalidate();
    this.refused.invalidate();
  }

  #askForPersistence(): void {
    const answered = (persistent: boolean): void => {
      this.connection.change({ persistent });
      this.notifier.flush();
    };
    this.place.platform.askForPersistence().then(answered, () => answered(false));
  }
}
