/** The client as apps see it. */

import type { Blobs } from "../blob/blobs.js";
import type { ConflictsOf } from "../conflicts/types.js";
import type { LiveTables } from "../live/types.js";
import type { ArgumentsOf, Mutators } from "../mutators.js";
import type { InstanceOf, LogDefinition } from "../schema/log.js";
import type { Schema, Tables } from "../schema/schema.js";
import type { KeyOf } from "../schema/table.js";
import type { ReadTransaction, WriteTransaction } from "../transaction/types.js";

/**
 * Which pending mutations are seen: all, those that are on this device's disk, or none. `delivered` is the confirmed state before the first own change that
 * not everybody who follows it has applied. It is there for tables that say `.delivered()` and for those of logs, in a tab that leads.
 */
export type View = "optimistic" | "durable" | "confirmed" | "delivered";

/** Names a mutation, also after a restart. Do not look inside. */
export type MutationId = string;

/** How far a mutation is. All but `pending` are final. */
export type MutationStatus =
  | {
      readonly state: "pending";
      /** On this device's disk: it will be sent, across restarts. */
      readonly durable: boolean;
      /** It was sent, and may have taken effect. */
      readonly sent: boolean;
      /** Why it would be rejected if the confirmed data were as it looks now. Later data may change it. */
      readonly wouldReject: string | undefined;
      /** Somebody else has written a row of a causal table that it wrote, unseen by each other. See `conflicts`. */
      readonly inConflict?: true;
      /** Data centres that are known to have it, where it writes tables that merge: one. It is confirmed once enough have it. */
      readonly centres?: number;
    }
  /** It took effect. `delivered`: and everybody who follows what it wrote has applied it. */
  | { readonly state: "confirmed"; readonly delivered?: true }
  /** In a causal table it was in conflict, and a person did not keep what it wrote. */
  | { readonly state: "overruled" }
  /** Its closure gave up with `Abort`, on confirmed data. */
  | { readonly state: "rejected"; readonly reason: string }
  /** It can never be accepted as it is. Its arguments are kept, see `refused`. */
  | { readonly state: "quarantined"; readonly reason: string }
  /** It never began: a mistake in the closure, data that is missing while offline, or taken back. */
  | { readonly state: "cancelled"; readonly reason: string };

export type PendingStatus = Extract<MutationStatus, { readonly state: "pending" }>;

export type SettledStatus = Exclude<MutationStatus, { readonly state: "pending" }>;

/** One call of a mutator. */
export interface MutationHandle {
  readonly id: MutationId;
  readonly status: MutationStatus;
  /**
   * Resolves once the mutation is on this device's disk, has taken effect, or was overruled by a person; rejects with `MutationError` if it ends otherwise, and with
   * code `closed` if the client is closed before. It waits as long as that takes: for `confirmed`, and for data that the closure lacks, until
   * there is a connection.
   * `delivered` resolves once everybody who follows what it wrote has applied it, but for who owes that for more than 2 s. It rejects with code `transaction` where
   * nobody is followed: no table says `.delivered()` or is of a log, or this tab does not lead.
   * A rejection that nobody handles is no error of the page: it is shown by `refused` too.
   */
  until(stage: "durable" | "confirmed" | "delivered"): Promise<void>;
  /**
   * Takes it back; false if it was sent already, or the client is closed. In a tab that follows, true says only that the tab that leads is asked to: the status
   * tells what came of it.
   */
  cancel(): boolean;
  /** Calls back at every change of `status`. Returns the function that ends it. */
  onChange(callback: (status: MutationStatus) => void): () => void;
}

/** A mutation that has not ended. */
export interface PendingMutation {
  readonly id: MutationId;
  /** Undefined for `transact`. */
  readonly name: string | undefined;
  readonly args: unknown;
  /** Milliseconds since 1970. */
  readonly calledAt: number;
  readonly status: PendingStatus;
}

/** A mutation that ended without effect, kept until it is dismissed. */
export interface RefusedMutation {
  readonly id: MutationId;
  readonly name: string;
  readonly args: unknown;
  /** Milliseconds since 1970. */
  readonly calledAt: number;
  readonly reason: string;
  /** Whether the app's own closure gave up; otherwise it could not be accepted. */
  readonly byApp: boolean;
}

export interface SettledMutation {
  readonly id: MutationId;
  /** Undefined for `transact`. */
  readonly name: string | undefined;
  readonly args: unknown;
  readonly status: SettledStatus;
}

/** How the client stands to the server and to this device. Never changed, only replaced. */
export interface ConnectionState {
  /** `refused`: the token, the schema or the version; mutations are held until the app helps. */
  readonly status: "offline" | "connecting" | "online" | "refused";
  /**
   * Whether this tab holds the connection, works through the tab that does, or can do neither: a tab with another version of the app
   * leads, and this one is of no use until it is loaded again, or the other one is closed. Also after its storage was lost, or the
   * client broke: `message` says so, calls are refused, and only loading the page again helps.
   */
  readonly role: "leader" | "follower" | "waiting";
  /** `memory`: nothing survives this page. */
  readonly storage: "indexeddb" | "memory";
  /** Whether the browser promised not to clear the storage by itself. */
  readonly persistent: boolean;
  /**
   * Why, where there is something to say: a refusal, why there is no token, why there is only memory, that this device cannot store data, so that mutations wait to be sent, or why the
   * connection was lost or cannot be made. Of the last, browsers tell nothing but what the server's side said at its end.
   */
  readonly message: string | undefined;
  /**
   * What `refused` is about. `unauthorized`: there is no token that the server takes. `other-user`: the token is of another user than the data on this device.
   * Then nothing is sent until there is a token of the same user again, or `signOut` has removed the data.
   */
  readonly refusal: "unauthorized" | "other-user" | "schema" | "version" | "replaced" | "limit" | undefined;
  /** The app asked for silence with `goOffline`, in any tab. */
  readonly paused: boolean;
}

/** The state of a reactive transaction. `data` is that of the last whole run. Never changed, only replaced. */
export type Reactive<T> =
  | { readonly status: "loading"; readonly data: T | undefined; readonly error: undefined }
  | { readonly status: "ready"; readonly data: T; readonly error: undefined }
  /** The data is not on this device, and there is no connection, at none of the addresses. It becomes ready by itself once there is one. */
  | { readonly status: "unavailable"; readonly data: T | undefined; readonly error: undefined }
  /** The closure failed. It runs again when what it read changes. */
  | { readonly status: "failed"; readonly data: T | undefined; readonly error: Error };

/** A running reactive transaction. */
export interface Observation<T> {
  /** The state now: if all data is here, `ready` from the start. The same object until it changes. */
  readonly state: Reactive<T>;
  onChange(callback: (state: Reactive<T>) => void): Stop;
  stop(): void;
}

export interface ReactOptions {
  /** `optimistic` if not given. */
  readonly view?: View;
}

/** One value that differs between two views. */
export interface Difference<N extends string = string, K = unknown> {
  readonly table: N;
  /** As `get` takes it: the values of the key in an array, or the value itself if there is one. */
  readonly key: K;
  readonly column: string;
}

export interface DifferenceOptions<N extends string = string> {
  /** The only table to look at. */
  readonly table?: N;
}

/** Ends a subscription. Calling it again does nothing. */
export type Stop = () => void;

/** `args` may be left out when there are none. */
type Call<Input> = [Input] extends [undefined] ? (args?: undefined) => MutationHandle : (args: Input) => MutationHandle;

export type Mutate<M> = { readonly [N in keyof M]: Call<ArgumentsOf<M[N]>> };

/** A client for which an operation of a log waits before it is delivered. */
export interface LogMember {
  /** The same for all entries of one client, in hexadecimal digits. It does not say which client it is: an app gives it a name in a row of its own. */
  readonly origin: string;
  /** Whether it is this client. */
  readonly own: boolean;
}

/**
 * A log that this client has joined. Its tables are read as any others, and changed by operations only. If another tab takes the lead, it stands still here, and goes on when
 * this tab leads again.
 */
export interface Log<O = unknown> {
  /**
   * The log's operations. A call returns at once; its effect is visible in the view `optimistic`. It is confirmed when this client has replayed it, behind all
   * operations that came before it, and rejected if it aborts then.
   *
   * @throws as a mutator's call, and for a name and arguments of more than 63 KiB.
   */
  readonly do: Mutate<O>;
  /** How many entries are replayed here, that which the log begins with among them. */
  readonly position: number;
  /** Why nothing more is replayed here, if it is so: an operation that this version of the app does not know. */
  readonly stopped: string | undefined;
  /**
   * After so many entries another member has another state, if that is known: an operation does not do the same on every device. The log goes on. It is a
   * warning on the console, too.
   */
  readonly differs: number | undefined;
  /** The members, whom operations wait for before they are delivered, as the server told them last. This client is among them while it is waited for. */
  readonly members: readonly LogMember[];
  /** Calls back with the members whenever they are others. One that does not answer for 2 s is none any more, and comes back once it has caught up. */
  onMembers(callback: (members: readonly LogMember[]) => void): Stop;
  /** Calls back when nothing more is replayed here, with the reason. */
  onStopped(callback: (reason: string) => void): Stop;
  /**
   * Replays what others do in batches, so many milliseconds apart, at most 10,000. 0, as at first: each entry as it comes. The pending operations then run again
   * once a batch; `delivered` of others waits so much longer.
   *
   * @throws code `call` for more than 10 s, and once the log is left; the codes of `log(...)`.
   */
  rebaseEvery(ms: number): void;
  /**
   * Leaves the log: nothing of it is kept on this device any more, and its tables cannot be read before `log(...)` joins it again. Leaving it again does nothing.
   *
   * @throws code `call` while operations that were called here are pending, and the codes of `log(...)`.
   */
  leave(): void;
}

/** A client of one user on this device. Made by `createClient()`. */
export interface Client<S extends Schema = Schema, M = unknown> {
  readonly schema: S;
  /** Large values of rows: put onto this device, and read piece by piece. */
  readonly blobs: Blobs;
  /** The conflicts of causal tables, which a person decides: `db.conflicts.notes`. A table that merges has none. */
  readonly conflicts: ConflictsOf<S>;
  /**
   * The app's mutators. A call returns at once; its effect is visible in the view `optimistic`.
   *
   * @throws what the mutator's parser throws; code `call` where the arguments cannot be stored or are too large, too many calls are pending, or a closure
   * runs; `not-ready` in a tab that waits for another version of the app, `closed`, and `storage` or `failed` once this tab can work no more.
   * What becomes of the call the handle says.
   */
  readonly mutate: Mutate<M>;

  /**
   * The app's tables as shared variables: `db.live.hits("home").increment()`, `db.live.notes(id).title.value`. Each write is a transaction of its own, queued
   * and repeated like a mutator's; what has to hold together belongs into a mutator.
   */
  readonly live: LiveTables<S>;

  /**
   * Joins a log, or finds it joined: it is replayed from now on, and its tables can be read. `instance`: the value of the first column of their keys. Only in the
   * tab that leads.
   *
   * @throws code `not-leading` in a tab that follows another one, `call` for a log of another schema and for more than 64 logs, `transaction` for an instance of
   * another type than the column, and `closed`, `storage` or `failed` as a call of a mutator.
   */
  log<T extends Tables, O>(definition: LogDefinition<T, O>, instance: InstanceOf<T>): Log<O>;

  /**
   * Runs a closure now and whenever what it read has changed, each time on one snapshot. After changes it runs when the call that made them has returned, once
   * for all of one turn, and at most once for each frame of a page; see `settled`.
   */
  observe<T>(closure: (tx: ReadTransaction<S>) => T, options?: ReactOptions): Observation<T>;
  /** The same with a callback, which is called at every change of state, and returns the function that ends it. */
  react<T>(
    closure: (tx: ReadTransaction<S>) => T,
    options: ReactOptions,
    callback: (state: Reactive<T>) => void,
  ): Stop;
  /**
   * Resolves when observations, reactions and live bindings have caught up with what was called: they run after a call and not in it, at most once for each
   * frame of a page, and they run now for this. In a tab that follows another one, it waits for that one. It waits for no server and for no data. `read` and `peek` need none of it:
   * they see each call at once. In a handler of input events it brings what was written back into the boxes before the handler ends.
   *
   * Rejects with `closed`, `storage` or `failed` as a call of a mutator throws, and with `not-ready` if something was called that waits for another version of the app.
   */
  settled(): Promise<void>;
  /**
   * Runs a closure once its data is here. Rejects with code `unavailable` if it is not and there is no connection, with what the closure throws, and with `closed`,
   * `storage` or `failed` as a call of a mutator.
   */
  read<T>(closure: (tx: ReadTransaction<S>) => T, options?: ReactOptions): Promise<T>;
  /**
   * Runs a closure once, at once, on what this device holds of a view, and returns what it returned. It never waits and asks for nothing, so an app may call it
   * for each frame. What is observed or pinned is held.
   *
   * @throws code `not-held`, which names what is missing; `call` where a closure runs; what the closure throws; `closed`, `storage` or `failed` as a call of a mutator.
   */
  peek<T>(closure: (tx: ReadTransaction<S>) => T, options?: ReactOptions): T;
  /**
   * The values that differ between two views, in the order of tables, keys and columns. Of a row that only one view has, each column differs. With `delivered` it
   * is about the tables that say `.delivered()` and those of logs. It looks at what is pending or not delivered, not at all rows, and never waits.
   *
   * @throws as `peek`; code `transaction` for a table that is not there, or that `delivered` cannot be asked of.
   */
  difference<N extends string & keyof S["tables"]>(
    a: View,
    b: View,
    options?: DifferenceOptions<N>,
  ): readonly Difference<N, KeyOf<S["tables"][N]>>[];
  /** Another number when `peek` or `difference` may give another answer. */
  readonly viewsNumber: number;
  /** Calls back at every change of `viewsNumber`. */
  onViewsChange(callback: () => void): Stop;
  /**
   * Keeps on this device what a closure reads, until the returned function is called: it is there for other reads at once, also offline, and does not leave
   * the cache for others. `callback` hears when it is there, or that it cannot be.
   */
  pin(closure: (tx: ReadTransaction<S>) => unknown, callback?: (state: Reactive<void>) => void): Stop;
  /**
   * Runs a closure that has no name. Online only (else it rejects with code `offline`), and only in the tab that leads (elsewhere with `not-leading`); lost if
   * the page ends before it is confirmed. Resolves when it is; rejects with what the closure throws, with `MutationError` if it ends otherwise, and else as a call of
   * a mutator throws.
   */
  transact<T>(closure: (tx: WriteTransaction<S>) => T): Promise<T>;

  readonly connection: ConnectionState;
  onConnectionChange(callback: (state: ConnectionState) => void): Stop;
  /**
   * The name of the data centre that serves this client, or that served it last. `moving` while the client goes on to another one: it shows what it has until
   * all of that is there. Undefined until a group of data centres has served it, and always in a tab that follows another one.
   */
  readonly centre: string | undefined;
  /** Calls back at every change of `centre`. */
  onCentre(callback: (centre: string | undefined) => void): Stop;
  /** Oldest first. Another array whenever it changes. */
  readonly pending: readonly PendingMutation[];
  onPendingChange(callback: (pending: readonly PendingMutation[]) => void): Stop;
  /** Oldest first. Another array whenever it changes. */
  readonly refused: readonly RefusedMutation[];
  onRefusedChange(callback: (refused: readonly RefusedMutation[]) => void): Stop;
  /** Forgets a refused mutation and its arguments. */
  dismiss(id: MutationId): void;
  /**
   * Calls back when a mutation ends, also one that was called before a restart, or in another tab. A tab that follows may miss one of
   * another tab that began and ended within moments.
   */
  onMutationSettled(callback: (mutation: SettledMutation) => void): Stop;

  /** Drops the connection, of all tabs, and stays offline until `goOnline`. */
  goOffline(): void;
  /** Connects now, rather than after the pause. */
  goOnline(): void;
  /** Uses another token from now on, and tries it at once if the old one was refused. A function that was given as `token` is asked again when this one has run out. */
  setToken(token: string): void;
  /** Ends the connection and all reactive transactions; resolves when everything is stored. */
  close(): Promise<void>;
  /**
   * Removes all that this device keeps of the user, in all tabs, and ends their clients; resolves when it is removed. Open a new client for who signs in next.
   *
   * Rejects with code `pending`, and nothing is done, while mutations are pending or conflicts are not decided: they would be lost. `discard` gives them up. Rejects
   * with `not-ready` in a tab that waits for another version of the app, and with `closed`, `storage` or `failed` as a call of a mutator.
   */
  signOut(options?: SignOutOptions): Promise<void>;
}

export interface SignOutOptions {
  /** Gives up what was not sent, or may not have taken effect. */
  readonly discard?: true;
}

/** The client of an app, from the type of its mutators: `ClientOf<typeof mutators>`. */
export type ClientOf<A> = A extends Mutators<infer S, infer M> ? Client<S, M> : never;

/**
 * The address of a server's `/sync`, such as `ws://127.0.0.1:7777/sync`; or those of several gateways of one server. The client stays with one that
 * works, and goes on at another when that is gone.
 */
export type Addresses = string | URL | readonly (string | URL)[];

/** Where a client finds its server: `url`, or `centres` for a server of several data centres. */
export type ServerOptions =
  | {
      readonly url: Addresses;
      readonly centres?: never;
    }
  | {
      /**
       * The addresses of 1 to 7 data centres of one group, by their names, the preferred one first:
       *
       * ```ts
       * centres: { eu: ["wss://eu.example.org/sync"], us: ["wss://us.example.org/sync"] }
       * ```
       *
       * When all gateways of one fail the client goes on at the next one, and behind the last one at the first. It still shows all that it has seen. It sends
       * calls that are not confirmed to the new one. A name is 1 to 32 of `a-z`, `0-9` and `-`, begins with a letter, and does not end with `-`. `db.centre` gives the
       * name that the data centre has in its group.
       */
      readonly centres: Readonly<Record<string, Addresses>>;
      readonly url?: never;
    };

/** Gives a token, such as one that the app's own backend has just issued. */
export type TokenFunction = () => string | Promise<string>;

/** A user as whom a page speaks in development: its name of 1 to 256 bytes, and what a token says of it. Numbers are whole. */
export interface DevelopmentUser {
  readonly sub: string;
  readonly [claim: string]: string | number | boolean | readonly string[];
}

/** The options of `createClient`. */
export type ClientOptions<S extends Schema, M> = OptionsOfApp<S, M> & ServerOptions;

/** The same without the addresses. */
export interface OptionsOfApp<S extends Schema, M> {
  /**
   * The token, or a function that gives one. The function is asked before the first connection, when four fifths of a token's life are over, and when the server
   * refuses one. Only the tab that leads asks, one question at a time. Let it throw, or reject, while there is no token: it is asked again after a pause of 1 s,
   * which grows up to a minute. `connection` is `refused` meanwhile, unless the token before is still good.
   */
  readonly token: string | TokenFunction;
  /** Speaks as this user, with the development token of `iolite dev`. It takes each of them at its word. */
  readonly as?: DevelopmentUser;
  readonly schema: S;
  readonly mutators: { readonly schema: S; readonly byName: M };
  /** The app's name and the user's, which together name the storage on this device. */
  readonly name: string;
  readonly user: string;
  /** `indexeddb` if not given and where there is one; else `memory`. */
  readonly storage?: "indexeddb" | "memory";
  /**
   * About how many bytes of memory the rows of the cache take, 64 MiB if not given. Past it, what nobody reads or pins goes, the least recently used first; if
   * everything is needed, the observation that asked last fails.
   */
  readonly cacheBytes?: number;
  /**
   * Asks the server to tell of others' changes at most once in so many milliseconds, put together: for apps that show what changes faster than anybody looks. Up
   * to 10,000. The first change after a pause comes at once, and outcomes of own mutations do not wait. What the tab that leads says counts for all.
   */
  readonly batch?: { readonly ms: number };
  /** Begins offline, as after `goOffline`. A tab that follows does as the one that leads. */
  readonly paused?: boolean;
  /** Runs every closure twice and compares. On unless `process.env.NODE_ENV` is `production`. */
  readonly development?: boolean;
}
