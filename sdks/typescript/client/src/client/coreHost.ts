/**
 * Drives the core: hands it what happens on the link, the disk and the clock, and carries out what it asks for.
 *
 * Invariants: the core is never called while it works; inputs that arrive together are handled together; it is told that something is
 * stored only when it is.
 */

import { newId } from "../id.js";
import type { Link, Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import { type ChosenStorage } from "../storage/chooseStorage.js";
import { WriteQueue } from "../storage/writeQueue.js";
import { bindTables } from "../transaction/binding.js";
import { type Closure, refuseUnknown, runClosure, type RunResult, type Stage } from "../transaction/runClosure.js";
import { errorOf } from "../transaction/scope.js";
import { Core, OutputKind } from "../wasm/iolite_wasm.js";
import type { Listings } from "./mutationBook.js";
import { type CoreOutput, readOutput } from "./outputs.js";

export interface CoreHostOptions {
  readonly platform: Platform;
  readonly url: string;
  readonly token: string;
  readonly user: string;
  readonly schema: Schema;
  readonly development: boolean;
}

/** What the host cannot do by itself. */
export interface CoreHostEvents {
  /** The closure of a mutation that the core wants to run; undefined if the app has none. */
  closureOf(counter: number, name: string | undefined, args: string | undefined): Closure | undefined;
  reactionOf(reaction: number): Closure | undefined;
  mutationRan(counter: number, result: RunResult): void;
  reactionRan(reaction: number, result: RunResult): void;
  /** Everything that is only news. */
  told(output: CoreOutput): void;
  /** Storing fails, or (undefined) works again. */
  storageTrouble(message: string | undefined): void;
  /** The host did something by itself: deliver what is news. */
  worked(): void;
  /** The core is broken, which is a bug in it. Nothing works any more until the page is loaded again. */
  broke(error: unknown): void;
}

/** The last tick of a timer that browsers keep exact. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class CoreHost {
  readonly #core: Core;
  readonly #stage: Stage;
  readonly #options: CoreHostOptions;
  readonly #events: CoreHostEvents;
  readonly #writes: WriteQueue;
  readonly #stopListening: () => void;
  #link: Link | undefined;
  #inbox: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: "idle" | "working" | "closed" = "idle";

  /** Loads what is stored and opens the core on it. */
  static async open(chosen: ChosenStorage, options: CoreHostOptions, events: CoreHostEvents): Promise<CoreHost> {
    const stored = await chosen.storage.load();
    const { schema, token, user, platform } = options;
    let core;
    try {
      core = Core.open(schema.json, newId(), token, user, stored, platform.monotonicMs(), platform.wallMs());
    } catch (thrown) {
      chosen.storage.close();
      throw errorOf(thrown);
    }
    return new CoreHost(core, chosen, options, events);
  }

  private constructor(core: Core, chosen: ChosenStorage, options: CoreHostOptions, events: CoreHostEvents) {
    this.#core = core;
    this.#options = options;
    this.#events = events;
    this.#stage = { core, tables: bindTables(core, options.schema), development: options.development };
    this.#writes = new WriteQueue(chosen.storage, {
      written: (id) => this.#receive(() => core.persisted(id, ...this.#now())),
      trouble: (message) => events.storageTrouble(message),
    });
    this.#stopListening = options.platform.onDevice({
      awake: () => this.#receive(() => core.goOnline(this.#now()[0])),
      networkLost: () => this.#loseLink(),
    });
  }

  /** Calls the core, then does what it asks for. */
  call<T>(use: (core: Core, monotonicMs: number, wallMs: number) => T): T {
    const result = this.callOnly(use);
    this.drain();
    return result;
  }

  /** Calls the core; the caller drains. Inside a closure the core refuses what it cannot do then. */
  callOnly<T>(use: (core: Core, monotonicMs: number, wallMs: number) => T): T {
    try {
      return use(this.#core, ...this.#now());
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }

  /** What is pending and refused, for people. */
  get listings(): Listings {
    return this.#core;
  }

  drain(): void {
    if (this.#state !== "idle") {
      return;
    }
    this.#state = "working";
    try {
      for (let raw = this.#core.poll(); raw !== undefined; raw = this.#core.poll()) {
        this.#carryOut(readOutput(raw));
      }
      this.#state = "idle";
      this.#setTimer();
    } catch (error) {
      this.#end();
      this.#events.broke(error);
    }
  }

  /** Ends everything; resolves when all is stored. */
  async close(): Promise<void> {
    if (this.#state !== "closed") {
      this.call((core) => core.goOffline());
      this.#end();
    }
    await this.#writes.close();
  }

  #end(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
    this.#stopListening();
    this.#link?.close();
    this.#link = undefined;
  }

  #now(): [monotonicMs: number, wallMs: number] {
    const { platform } = this.#options;
    return [platform.monotonicMs(), platform.wallMs()];
  }

  #carryOut(output: CoreOutput): void {
    switch (output.kind) {
      case OutputKind.Connect:
        return this.#connect();
      case OutputKind.Disconnect:
        this.#link?.close();
        this.#link = undefined;
        return;
      case OutputKind.Send:
        return this.#link?.send(output.frame);
      case OutputKind.Persist:
        return this.#writes.push(output.id, output.changes);
      case OutputKind.RunMutation:
        return this.#runMutation(output.counter, output.name, output.args);
      case OutputKind.RunReaction:
        return this.#runReaction(output.reaction);
      case OutputKind.Unavailable:
      case OutputKind.Mutation:
      case OutputKind.Connection:
      case OutputKind.ReactionFailed:
        return this.#events.told(output);
      case OutputKind.ToTab:
      case OutputKind.ReadOutbox:
      case OutputKind.Adopted:
        return;
    }
  }

  #runMutation(counter: number, name: string | undefined, args: string | undefined): void {
    const closure = this.#events.closureOf(counter, name, args);
    if (closure === undefined) {
      return refuseUnknown(this.#core);
    }
    this.#events.mutationRan(counter, runClosure(this.#stage, closure));
  }

  #runReaction(reaction: number): void {
    const closure = this.#events.reactionOf(reaction);
    if (closure === undefined) {
      return refuseUnknown(this.#core);
    }
    this.#events.reactionRan(reaction, runClosure(this.#stage, closure));
  }

  #connect(): void {
    this.#link?.close();
    const link: Link = this.#options.platform.openLink(this.#options.url, {
      opened: () => this.#receiveFrom(link, () => this.#core.linked(...this.#now())),
      lost: () => this.#receiveFrom(link, () => this.#forget()),
      frame: (bytes) => this.#receiveFrom(link, () => this.#core.frame(bytes, ...this.#now())),
    });
    this.#link = link;
  }

  #forget(): void {
    this.#link = undefined;
    this.#core.linkLost(...this.#now());
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
    this.#receive(() => {
      if (link === this.#link) {
        input();
      }
    });
  }

  #receive(input: () => void): void {
    if (this.#inbox.push(input) === 1) {
      this.#options.platform.soon(() => this.#takeIn());
    }
  }

  #takeIn(): void {
    const inputs = this.#inbox;
    this.#inbox = [];
    if (this.#state === "closed") {
      return;
    }
    inputs.forEach((input) => input());
    this.drain();
    this.#events.worked();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const deadline = this.#core.deadline();
    if (deadline === undefined) {
      return;
    }
    const wait = Math.min(Math.max(0, Math.ceil(deadline - this.#now()[0])), TIMER_MAX_MS);
    this.#timer = setTimeout(() => {
      this.#core.onDeadline(...this.#now());
      this.drain();
      this.#events.worked();
    }, wait);
  }
}
