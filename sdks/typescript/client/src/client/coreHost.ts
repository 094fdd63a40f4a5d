/**
 * Drives a core: hands it what happens on the disk and the clock, and carries out what it asks for. What only a core that leads or only one
 * that follows asks for is done by `LeaderHost` and `FollowerHost`.
 *
 * Invariants: the core is never called while it works; inputs that arrive together are handled together; it is told that something is
 * stored only when it is; reactions run in turns of their own, once for what was called in between, and never inside a call of the app, but for the first
 * result of one that begins.
 */

import { IoliteError } from "../errors.js";
import type { Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import type { Storage } from "../storage/storage.js";
import { WriteQueue } from "../storage/writeQueue.js";
import type { RawChoice, RawConflict } from "../conflicts/types.js";
import type { PartOfBlob, TabMessage } from "../tabs/tabChannel.js";
import { bindTables } from "../transaction/binding.js";
import { type Closure, refuseUnknown, runClosure, runPeek, type RunResult, type Stage } from "../transaction/runClosure.js";
import { errorOf } from "../transaction/scope.js";
import { type Core, OutputKind } from "../wasm/iolite_wasm.js";
import { readDifferences } from "./differences.js";
import type { Listings } from "./mutationBook.js";
import { type CoreOutput, type News, type OwnOutput, readOutput } from "./outputs.js";
import type { Difference, View } from "./types.js";

export interface CoreHostOptions {
  readonly platform: Platform;
  readonly schema: Schema;
  readonly development: boolean;
  readonly cacheBytes: number | undefined;
}

/** What the host cannot do by itself. */
export interface CoreHostEvents {
  /** The closure of a mutation that the core wants to run; undefined if the app has none. */
  closureOf(counter: number, name: string | undefined, args: string | undefined): Closure | undefined;
  /** The operation of a log that is replayed; undefined if the app has none of that name. */
  replayOf(name: string, args: string): Closure | undefined;
  reactionOf(reaction: number): Closure | undefined;
  mutationRan(counter: number, result: RunResult): void;
  reactionRan(reaction: number, result: RunResult): void;
  /** Everything that is only news. */
  told(output: News): void;
  /** Storing fails, or (undefined) works again. */
  storageTrouble(message: string | undefined): void;
  /** Why the link was lost, or could not be made. */
  linkTrouble(message: string): void;
  /** A view may show something else; the app is told in the next turn. */
  readonly views: { changed(): void; tell(): void };
  /** The host did something by itself: deliver what is news. */
  worked(): void;
  /** The core, which leads, wants a token: `setToken` and `tokenFailed` answer it. */
  tokenWanted(): void;
  /** Another tab leads by now. */
  overtaken(): void;
  /** A tab that follows has another leader from now on. */
  leaderChanged(): void;
  /** The core is broken, which is a bug in it. Nothing works any more until the page is loaded again. */
  broke(error: unknown): void;
}

/** The last tick of a timer that browsers keep exact. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export abstract class CoreHost {
  abstract readonly role: "leader" | "follower";
  protected readonly core: Core;
  protected readonly platform: Platform;
  protected readonly events: CoreHostEvents;
  protected readonly writes: WriteQueue;
  readonly #stage: Stage;
  #inbox: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: "idle" | "working" | "closed" = "idle";
  #peeks = false;
  #views = -1;
  /** Whether a turn of the reactions is on its way. */
  #turn: "none" | "comes" = "none";

  protected constructor(core: Core, storage: Storage, options: CoreHostOptions, events: CoreHostEvents) {
    this.core = core;
    this.platform = options.platform;
    this.events = events;
    this.#stage = { core, tables: bindTables(core, options.schema), development: options.development };
    this.writes = new WriteQueue(storage, {
      written: (id) => this.receive(() => core.persisted(id, ...this.now())),
      trouble: (message) => events.storageTrouble(message),
      full: () => this.storageFull(),
      overtaken: () => events.overtaken(),
    });
  }

  /** Calls the core, then does what it asks for. */
  call<T>(use: (core: Core, monotonicMs: number, wallMs: number) => T): T {
    const result = this.callOnly(use);
    this.drain();
    return result;
  }

  /**
   * Brings a part of a blob onto the device, and calls back when that is done, or with why not. Returns the function that gives it up.
   *
   * @throws code `call` for a table or column that the schema does not have.
   */
  abstract fetch(part: PartOfBlob, ended: (problem: string | undefined) => void): () => void;

  /**
   * Begins to fetch a part of a blob, and gives the number of the fetch. The caller drains.
   *
   * @throws code `call` for a table or column that the schema does not have.
   */
  protected beginFetch({ table, key, column, tree, begin, end }: PartOfBlob): number {
    const binding = this.#stage.tables.find(({ name }) => name === table);
    const place = binding?.columns.indexOf(column) ?? -1;
    if (binding === undefined || place < 0) {
      throw new IoliteError("call", `the schema has no column ${JSON.stringify(column)} in a table ${JSON.stringify(table)}`);
    }
    return this.callOnly((core) => core.fetchBlob(binding.number, [...key], place, tree, begin, end));
  }

  /** The conflicts of a causal table, as far as they are known in this tab. */
  abstract conflicts(table: string): readonly RawConflict[];

  /** Decides conflicts. Rejects with code `call` if a row was written again meanwhile. */
  abstract resolve(table: string, choices: readonly RawChoice[]): Promise<void>;

  protected numberOf(table: string): number {
    const binding = this.#stage.tables.find(({ name }) => name === table);
    if (binding === undefined) {
      throw new IoliteError("call", `the schema has no table ${JSON.stringify(table)}`);
    }
    return binding.number;
  }

  /** Calls the core; the caller drains. Inside a closure the core refuses what it cannot do then. */
  callOnly<T>(use: (core: Core, monotonicMs: number, wallMs: number) => T): T {
    if (this.#peeks) {
      throw new IoliteError("call", "a closure looks at a view: use the client when it has ended");
    }
    try {
      return use(this.core, ...this.now());
    } catch (thrown) {
      throw thrown instanceof WebAssembly.RuntimeError ? this.#broke(thrown) : errorOf(thrown);
    }
  }

  /** Runs a closure once, on what is held of a view. */
  peek(view: View, closure: Closure): unknown {
    this.callOnly((core) => core.beginPeek(view));
    this.#peeks = true;
    try {
      return runPeek(this.#stage, closure);
    } catch (thrown) {
      throw errorOf(thrown);
    } finally {
      this.#peeks = false;
    }
  }

  difference(a: View, b: View, table: string | undefined): readonly Difference[] {
    return readDifferences(this.#stage.tables, this.callOnly((core) => core.difference(a, b, table)));
  }

  /** What is pending and refused, for people. */
  get listings(): Listings {
    return this.core;
  }

  drain(): void {
    if (this.#state !== "idle") {
      return;
    }
    this.#state = "working";
    this.#guard(() => {
      for (let raw = this.core.poll(); raw !== undefined; raw = this.core.poll()) {
        this.#carryOut(readOutput(raw));
      }
      this.#setTimer();
      if (this.#compareViews() || this.core.reactionsWait()) {
        this.#askForTurn();
      }
    });
    this.#state = "idle";
  }

  /** Runs the reactions that wait for their turn, and tells the app what is news of them. While the core works it does that by itself, later. */
  react(): void {
    if (this.#state === "idle" && !this.#peeks) {
      this.#takeTurn();
    }
  }

  /** Another tab said something. */
  abstract hear(message: TabMessage): void;

  /** Ends everything; resolves when all is stored. Not for while the core works. */
  abstract close(): Promise<void>;

  /** The same without a word to the core, which may be broken. */
  async abandon(): Promise<void> {
    this.end();
    await this.writes.close();
  }

  /** Resolves when what the core wants stored is stored, or is known not to be, and the core knows it. Nothing is called while that lasts. */
  async settle(): Promise<void> {
    do {
      await this.writes.settle();
      this.takeIn();
    } while (!this.writes.isIdle);
  }

  /** A write of this tab has no room. */
  protected abstract storageFull(): void;

  /** What only this host's kind of core asks for. */
  protected abstract carryOutOwn(output: OwnOutput): void;

  protected end(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
  }

  protected now(): [monotonicMs: number, wallMs: number] {
    return [this.platform.monotonicMs(), this.platform.wallMs()];
  }

  /** Something happened: the core is told soon, with what else happens until then. */
  protected receive(input: () => void): void {
    if (this.#inbox.push(input) === 1) {
      this.platform.soon(() => this.takeIn());
    }
  }

  protected takeIn(): void {
    const inputs = this.#inbox;
    this.#inbox = [];
    if (this.#state === "closed" || inputs.length === 0) {
      return;
    }
    this.#guard(() => inputs.forEach((input) => input()));
    this.#reactToInputs();
  }

  /** Inputs come in batches, so without frames the reactions run with each batch. */
  #reactToInputs(): void {
    if (this.platform.frame === undefined) {
      return this.#takeTurn();
    }
    this.callOnly((core) => core.letReact(false));
    this.drain();
    this.events.worked();
  }

  #askForTurn(): void {
    if (this.#turn === "none") {
      this.#turn = "comes";
      (this.platform.frame ?? queueMicrotask)(() => {
        this.#turn = "none";
        this.react();
      });
    }
  }

  #takeTurn(): void {
    const turn = this.#turn;
    // What happens meanwhile is a part of this one.
    this.#turn = "comes";
    try {
      this.callOnly((core) => core.letReact(true));
      this.drain();
    } finally {
      this.#turn = turn;
    }
    if (this.core.reactionsWait()) {
      this.#askForTurn();
    }
    this.events.views.tell();
    this.events.worked();
  }

  /** Nothing that the core does by itself fails but for a bug. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw this.#broke(error);
    }
  }

  #broke(error: unknown): unknown {
    this.end();
    this.events.broke(error);
    return error;
  }

  #carryOut(output: CoreOutput): void {
    switch (output.kind) {
      case OutputKind.Persist:
        return this.writes.push(output.id, output.changes);
      case OutputKind.RunMutation:
        return this.#runMutation(output.counter, output.name, output.args);
      case OutputKind.RunReplay:
        return this.#runReplay(output.name, output.args);
      case OutputKind.RunReaction:
        return this.#runReaction(output.reaction);
      case OutputKind.Unavailable:
      case OutputKind.Mutation:
      case OutputKind.Delivered:
      case OutputKind.LogStopped:
      case OutputKind.LogDiffers:
      case OutputKind.LogMembers:
      case OutputKind.Conflicts:
      case OutputKind.Call:
      case OutputKind.Connection:
      case OutputKind.Centre:
      case OutputKind.ReactionFailed:
        return this.events.told(output);
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
      case OutputKind.ToLeader:
      case OutputKind.TokenWanted:
        return this.carryOutOwn(output);
    }
  }

  #runMutation(counter: number, name: string | undefined, args: string | undefined): void {
    const closure = this.events.closureOf(counter, name, args);
    if (closure === undefined) {
      return refuseUnknown(this.core);
    }
    this.events.mutationRan(counter, runClosure(this.#stage, closure));
  }

  #runReplay(name: string, args: string): void {
    const closure = this.events.replayOf(name, args);
    if (closure === undefined) {
      return refuseUnknown(this.core);
    }
    runClosure(this.#stage, closure);
  }

  #runReaction(reaction: number): void {
    const closure = this.events.reactionOf(reaction);
    if (closure === undefined) {
      return refuseUnknown(this.core);
    }
    this.events.reactionRan(reaction, runClosure(this.#stage, closure));
  }

  /** Whether one may show something else. */
  #compareViews(): boolean {
    const number = this.core.viewsNumber();
    if (number === this.#views) {
      return false;
    }
    this.#views = number;
    this.events.views.changed();
    return true;
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const deadline = this.core.deadline();
    if (deadline === undefined) {
      return;
    }
    const wait = Math.min(Math.max(0, Math.ceil(deadline - this.now()[0])), TIMER_MAX_MS);
    this.#timer = setTimeout(() => {
      this.#guard(() => this.core.onDeadline(...this.now()));
      this.#reactToInputs();
    }, wait);
  }
}
