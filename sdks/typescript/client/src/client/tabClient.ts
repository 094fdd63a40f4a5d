/** The client of one tab: the app's side of it, over a core that is there once this tab leads. */

import { IoliteError } from "../errors.js";
import type { Mutator } from "../mutators.js";
import type { Platform } from "../platform/platform.js";
import type { Schema } from "../schema/schema.js";
import { chooseStorage } from "../storage/chooseStorage.js";
import type { Leadership } from "../tabs/leadership.js";
import type { Closure } from "../transaction/runClosure.js";
import { OutputKind } from "../wasm/iolite_wasm.js";
import { decodeArguments, encodeArguments } from "./arguments.js";
import { ConnectionWatch } from "./connectionWatch.js";
import { CoreHost, type CoreHostEvents } from "./coreHost.js";
import { MutationBook, settledCallbackOf } from "./mutationBook.js";
import { Notifier } from "./notifier.js";
import { Observations } from "./observations.js";
import type { OneObservation } from "./observation.js";
import type { CoreOutput } from "./outputs.js";
import type {
  Client,
  ClientOptions,
  ConnectionState,
  MutationHandle,
  MutationId,
  Observation,
  PendingMutation,
  Reactive,
  ReactOptions,
  RefusedMutation,
  SettledMutation,
  Stop,
} from "./types.js";
import { Watched } from "./watched.js";

/** What a tab is opened with. */
export type TabOptions = ClientOptions<Schema, unknown> & { readonly development: boolean };

/** What a leading tab has: a core, and the book of its mutations. */
interface Lead {
  readonly host: CoreHost;
  readonly book: MutationBook;
}

const WAITING = "another tab of this app is in use: this one goes on when that is closed";

/** One tab: before it leads it only remembers what it is to observe. */
export class TabClient implements Client, CoreHostEvents {
  readonly schema: Schema;
  readonly mutate: Record<string, (args?: unknown) => MutationHandle> = {};
  readonly #options: TabOptions;
  readonly #mutators: Readonly<Record<string, Mutator>>;
  readonly #platform: Platform;
  readonly #storageName: string;
  readonly #leadership: Leadership;
  readonly #notifier = new Notifier();
  readonly #connection: ConnectionWatch;
  readonly #observations = new Observations(this.#notifier);
  readonly #pending = new Watched(this.#notifier, () => this.#lead?.book.pending() ?? []);
  readonly #refused = new Watched(this.#notifier, () => this.#lead?.book.refused() ?? []);
  readonly #settledCallbacks = new Set<(mutation: SettledMutation) => void>();
  #token: string;
  #storageMessage: string | undefined;
  #lead: Lead | undefined;
  #closed = false;

  constructor(options: TabOptions, platform: Platform, storageName: string, leadership: Leadership) {
    this.schema = options.schema;
    this.#options = options;
    this.#mutators = options.mutators.byName as Record<string, Mutator>;
    this.#platform = platform;
    this.#storageName = storageName;
    this.#leadership = leadership;
    this.#token = options.token;
    this.#connection = new ConnectionWatch(this.#notifier, options.storage ?? "indexeddb");
    if (leadership.isWaiting) {
      this.#connection.change({ role: "waiting", message: WAITING });
    }
    for (const name of Object.keys(this.#mutators)) {
      this.mutate[name] = (args) => this.#call(name, args);
    }
  }

  /** This tab leads now: opens the core on what is stored. */
  async lead(): Promise<void> {
    const { storage = "indexeddb", url, schema, user, development } = this.#options;
    const chosen = await chooseStorage(this.#platform, storage, this.#storageName);
    this.#storageMessage = chosen.message;
    const hostOptions = { platform: this.#platform, url, token: this.#token, user, schema, development };
    const host = await CoreHost.open(chosen, hostOptions, this);
    if (this.#closed) {
      return host.close();
    }
    const book = new MutationBook(host.listings, this.#notifier, this.#settledCallbacks, development);
    this.#lead = { host, book };
    this.#connection.change({ role: "leader", storage: chosen.storage.kind, message: chosen.message });
    this.#observations.attach(host);
    if (this.connection.paused) {
      host.callOnly((core) => core.goOffline());
    }
    host.drain();
    this.#changed();
    if (chosen.storage.kind === "indexeddb") {
      this.#askForPersistence();
    }
  }

  /** This tab won the lead and cannot use it. */
  failed(error: unknown): void {
    this.#connection.change({ message: error instanceof Error ? error.message : String(error) });
    this.#notifier.flush();
  }

  // What the app asks for.

  observe(closure: Closure, options: ReactOptions = {}): Observation<never> {
    this.#checkOpen();
    const observation = this.#observations.begin(closure, options.view ?? "optimistic");
    // An app may observe while it renders, when nobody else wants to be called.
    queueMicrotask(() => this.#notifier.flush());
    return observation as Observation<never>;
  }

  react<T>(closure: Closure, options: ReactOptions, callback: (state: Reactive<T>) => void): Stop {
    const observation: Observation<T> = this.observe(closure, options);
    observation.onChange(callback);
    this.#notifier.flush();
    return () => observation.stop();
  }

  read<T>(closure: Closure, options: ReactOptions = {}): Promise<T> {
    const reading = new Promise<T>((resolve, reject) => {
      const observation: Observation<T> = this.observe(closure, options);
      const settle = ({ status, data, error }: Reactive<T>): void => {
        if (status === "loading") {
          return;
        }
        observation.stop();
        if (status === "ready") {
          resolve(data);
        } else {
          reject(error ?? new IoliteError("unavailable", "the data is not on this device, and there is no connection"));
        }
      };
      observation.onChange(settle);
      settle(observation.state);
    });
    return handled(reading);
  }

  transact<T>(closure: Closure): Promise<T> {
    return handled(this.#transact(closure));
  }

  async #transact<T>(closure: Closure): Promise<T> {
    const { host, book } = this.#leading();
    const counter = host.callOnly((core, _, wallMs) => core.transact(wallMs));
    const result = book.beginTransaction(counter, closure);
    host.drain();
    this.#changed();
    return (await result) as T;
  }

  get connection(): ConnectionState {
    return this.#connection.watched.value;
  }

  onConnectionChange(callback: (state: ConnectionState) => void): Stop {
    return this.#connection.watched.onChange(callback);
  }

  get pending(): readonly PendingMutation[] {
    return this.#pending.value;
  }

  onPendingChange(callback: (pending: readonly PendingMutation[]) => void): Stop {
    return this.#pending.onChange(callback);
  }

  get refused(): readonly RefusedMutation[] {
    return this.#refused.value;
  }

  onRefusedChange(callback: (refused: readonly RefusedMutation[]) => void): Stop {
    return this.#refused.onChange(callback);
  }

  onMutationSettled(callback: (mutation: SettledMutation) => void): Stop {
    return settledCallbackOf(this.#settledCallbacks, callback);
  }

  dismiss(id: MutationId): void {
    const { host, book } = this.#leading();
    const counter = book.counterOf(id);
    if (counter !== undefined) {
      host.call((core) => core.dismiss(counter));
      this.#refused.invalidate();
      this.#notifier.flush();
    }
  }

  goOffline(): void {
    this.#checkOpen();
    this.#connection.change({ paused: true });
    this.#lead?.host.call((core) => core.goOffline());
    this.#notifier.flush();
  }

  goOnline(): void {
    this.#checkOpen();
    this.#connection.change({ paused: false });
    this.#lead?.host.call((core, monotonicMs) => core.goOnline(monotonicMs));
    this.#notifier.flush();
  }

  setToken(token: string): void {
    this.#checkOpen();
    this.#token = token;
    this.#lead?.host.call((core, monotonicMs) => core.setToken(token, monotonicMs));
    this.#notifier.flush();
  }

  async close(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    this.#observations.detach();
    await this.#lead?.host.close();
    this.#lead?.book.giveUp(new IoliteError("closed", "the client was closed before this was done"));
    this.#leadership.release();
    this.#notifier.flush();
  }

  // What the core's host asks for.

  closureOf(counter: number, name: string | undefined, args: string | undefined): Closure | undefined {
    if (name === undefined) {
      return this.#lead?.book.transactionOf(counter);
    }
    const mutator = Object.hasOwn(this.#mutators, name) ? this.#mutators[name] : undefined;
    if (mutator === undefined) {
      return undefined;
    }
    return (tx) => {
      const given = decodeArguments(args ?? "null");
      return mutator.run(tx, (mutator.parser === undefined ? given : mutator.parser.parse(given)) as never);
    };
  }

  reactionOf(reaction: number): Closure | undefined {
    return this.#observations.of(reaction)?.closure;
  }

  mutationRan(...ran: Parameters<MutationBook["ran"]>): void {
    this.#lead?.book.ran(...ran);
  }

  reactionRan(reaction: number, result: Parameters<OneObservation["ran"]>[0]): void {
    this.#observations.of(reaction)?.ran(result);
  }

  told(output: CoreOutput): void {
    switch (output.kind) {
      case OutputKind.Mutation:
        this.#lead?.book.became(output.counter, output.status);
        this.#pending.invalidate();
        this.#refused.invalidate();
        break;
      case OutputKind.Connection:
        this.#connection.change({
          status: output.status,
          refusal: output.refusal,
          message: output.message ?? this.#storageMessage,
        });
        this.#tellReachable(output.status);
        break;
      case OutputKind.Unavailable:
        this.#observations.of(output.reaction)?.reachable(false);
        break;
      case OutputKind.ReactionFailed:
        this.#observations.of(output.reaction)?.failed(output.message);
        break;
      default:
        break;
    }
  }

  storageTrouble(message: string | undefined): void {
    this.#storageMessage = message;
    this.#connection.change({ message });
    this.#notifier.flush();
  }

  worked(): void {
    this.#notifier.flush();
  }

  broke(error: unknown): void {
    const message = `the client has a bug and stopped, load the page again: ${String(error)}`;
    this.#connection.change({ status: "offline", message });
    this.#notifier.flush();
    throw error;
  }

  #call(name: string, args: unknown): MutationHandle {
    const { host, book } = this.#leading();
    this.#mutators[name]?.parser?.parse(args);
    const json = encodeArguments(args);
    const counter = host.callOnly((core, _, wallMs) => core.mutate(name, json, wallMs));
    const cancel = (): boolean => {
      const cancelled = host.call((core) => core.cancel(counter));
      this.#notifier.flush();
      return cancelled;
    };
    const handle = book.begin(counter, name, cancel);
    host.drain();
    this.#changed();
    return handle;
  }

  #changed(): void {
    this.#pending.invalidate();
    this.#notifier.flush();
  }

  #leading(): Lead {
    this.#checkOpen();
    if (this.#lead === undefined) {
      throw new IoliteError("not-ready", WAITING);
    }
    return this.#lead;
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new IoliteError("closed", "the client was closed");
    }
  }

  #tellReachable(status: ConnectionState["status"]): void {
    // While one retry follows another, what cannot be had stays so.
    if (status !== "connecting") {
      this.#observations.reachable(status === "online");
    }
  }

  #askForPersistence(): void {
    const answered = (persistent: boolean): void => {
      this.#connection.change({ persistent });
      this.#notifier.flush();
    };
    this.#platform.askForPersistence().then(answered, () => answered(false));
  }
}

/** A rejection that the app does not handle is no uncaught error of its page. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
