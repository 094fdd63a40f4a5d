/** The client of one tab as its app has it. */

import { functionOf, optionsOf, shown, textArgument, wordOf } from "../arguments/checks.js";
import { encodeArguments } from "../arguments/stored.js";
import { type Blobs, TabBlobs } from "../blob/blobs.js";
import { IoliteError } from "../errors.js";
import { newId } from "../id.js";
import type { LiveCellName } from "../live/binding.js";
import { liveOf } from "../live/tables.js";
import type { LiveTables } from "../live/types.js";
import type { Mutator } from "../mutators.js";
import type { LogDefinition } from "../schema/log.js";
import type { Schema } from "../schema/schema.js";
import type { Closure } from "../transaction/runClosure.js";
import { liveName } from "../wasm/iolite_wasm.js";
import type { FollowerHost } from "./followerHost.js";
import type { LeaderHost } from "./leaderHost.js";
import { begin } from "./ownCall.js";
import type { Seat } from "./seat.js";
import { tellDismissed } from "./takeOver.js";
import { VIEWS, viewOf } from "./viewOption.js";
import type {
  Client,
  ConnectionState,
  Difference,
  DifferenceOptions,
  Log,
  MutationHandle,
  MutationId,
  Observation,
  PendingMutation,
  Reactive,
  ReactOptions,
  RefusedMutation,
  SettledMutation,
  SignOutOptions,
  Stop,
  View,
} from "./types.js";

export class TabClient implements Client {
  readonly schema: Schema;
  readonly mutate: Record<string, (args?: unknown) => MutationHandle> = {};
  #live: LiveTables<Schema> | undefined;
  readonly #seat: Seat;
  readonly blobs: Blobs;
  readonly conflicts: Record<string, never>;
  readonly #mutators: Readonly<Record<string, Mutator>>;

  constructor(seat: Seat) {
    this.schema = seat.options.schema;
    this.#seat = seat;
    this.blobs = new TabBlobs(seat);
    this.conflicts = seat.conflicts.byTable as unknown as Record<string, never>;
    this.#mutators = seat.options.mutators.byName as Record<string, Mutator>;
    for (const name of Object.keys(this.#mutators)) {
      this.mutate[name] = (args) => this.#call(name, args);
    }
  }

  get live(): LiveTables<Schema> {
    const client = {
      observe: (closure: Closure, options: ReactOptions) => this.observe(closure, options),
      call: (args: string) => this.#callJson(liveName(), args),
      edit: (cell: LiveCellName, at: number, removed: number, inserted: string) =>
        this.#callJson(liveName(), this.#editJson(cell, at, removed, inserted)),
      written: ({ table, key, column }: LiveCellName) =>
        this.#seat.host?.callOnly((core) => core.liveText(table, [...key], column)),
    };
    return (this.#live ??= liveOf(this.schema, client) as unknown as LiveTables<Schema>);
  }

  log(definition: LogDefinition<never, never>, instance: never): Log<never> {
    return this.#seat.logs.join(definition, instance) as unknown as Log<never>;
  }

  observe(closure: Closure, options: ReactOptions = {}): Observation<never> {
    this.#seat.checkOpen();
    functionOf(closure, "call", "the closure");
    const observation = this.#seat.observations.begin(closure, viewOf(options));
    // An app may observe while it renders, when nobody else wants to be called.
    queueMicrotask(() => this.#seat.notifier.flush());
    return observation as Observation<never>;
  }

  react<T>(closure: Closure, options: ReactOptions, callback: (state: Reactive<T>) => void): Stop {
    functionOf(callback, "call", "react needs a callback, or use observe(closure, options): the callback");
    const observation: Observation<T> = this.observe(closure, options);
    observation.onChange(callback);
    this.#seat.notifier.flush();
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

  settled(): Promise<void> {
    return handled(this.#seat.settling.settled());
  }

  peek<T>(closure: Closure, options: ReactOptions = {}): T {
    functionOf(closure, "call", "the closure");
    return this.#held.peek(viewOf(options), closure) as T;
  }

  difference(a: View, b: View, options: DifferenceOptions = {}): readonly Difference<never, never>[] {
    const { table } = optionsOf(options, ["table"], "call", "the options of difference");
    const views = [wordOf(a, VIEWS, "call", "the first view"), wordOf(b, VIEWS, "call", "the second view")] as const;
    return this.#held.difference(...views, table as string | undefined) as readonly Difference<never, never>[];
  }

  get viewsNumber(): number {
    return this.#seat.views.number;
  }

  onViewsChange(callback: () => void): Stop {
    return this.#seat.views.onChange(callback);
  }

  pin(closure: Closure, callback: (state: Reactive<void>) => void = () => undefined): Stop {
    functionOf(closure, "call", "the closure");
    return this.react(
      (tx) => {
        closure(tx);
      },
      { view: "confirmed" },
      callback,
    );
  }

  transact<T>(closure: Closure): Promise<T> {
    return handled(this.#transact(closure));
  }

  async #transact<T>(closure: Closure): Promise<T> {
    this.#seat.checkUsable();
    functionOf(closure, "call", "the closure");
    const host = this.#seat.host;
    if (host?.role !== "leader") {
      throw new IoliteError(
        "not-leading",
        "a closure without a name runs only in the tab that holds the connection, and another one does: call a mutator, which works in every tab",
      );
    }
    const counter = host.callOnly((core, _, wallMs) => core.transact(wallMs));
    const result = this.#seat.book.beginTransaction(counter, closure);
    host.drain();
    this.#seat.changed();
    return (await result) as T;
  }

  get connection(): ConnectionState {
    return this.#seat.connection.watched.value;
  }

  onConnectionChange(callback: (state: ConnectionState) => void): Stop {
    return this.#seat.connection.watched.onChange(callback);
  }

  get centre(): string | undefined {
    return this.#seat.centre.value;
  }

  onCentre(callback: (centre: string | undefined) => void): Stop {
    return this.#seat.centre.onChange(callback);
  }

  get pending(): readonly PendingMutation[] {
    return this.#seat.pending.value;
  }

  onPendingChange(callback: (pending: readonly PendingMutation[]) => void): Stop {
    return this.#seat.pending.onChange(callback);
  }

  get refused(): readonly RefusedMutation[] {
    return this.#seat.refused.value;
  }

  onRefusedChange(callback: (refused: readonly RefusedMutation[]) => void): Stop {
    return this.#seat.refused.onChange(callback);
  }

  onMutationSettled(callback: (mutation: SettledMutation) => void): Stop {
    return this.#seat.settled.add(callback);
  }

  dismiss(id: MutationId): void {
    this.#seat.checkOpen();
    const { book, host, refused } = this.#seat;
    if (!refused.value.some((own) => own.id === id)) {
      return;
    }
    book.dismiss(id);
    // While this tab takes the lead there is no core: the next one is told.
    if (host !== undefined) {
      tellDismissed(book, host);
      host.drain();
    }
    refused.invalidate();
    this.#seat.worked();
  }

  goOffline(): void {
    this.#seat.checkOpen();
    this.#seat.pause(true);
  }

  goOnline(): void {
    this.#seat.checkOpen();
    this.#seat.pause(false);
  }

  setToken(token: string): void {
    this.#seat.checkOpen();
    this.#seat.setToken(textArgument(token, "call", "token"));
  }

  close(): Promise<void> {
    return this.#seat.close();
  }

  signOut(options: SignOutOptions = {}): Promise<void> {
    return handled(this.#signOut(options));
  }

  async #signOut(options: SignOutOptions): Promise<void> {
    const { discard = false } = optionsOf(options, ["discard"], "call", "the options of signOut");
    if (typeof discard !== "boolean") {
      throw new IoliteError("call", `discard is true, or is left out, not ${shown(discard)}`);
    }
    await this.#seat.signOut(discard);
  }

  /** The core, for a question that does not wait. */
  get #held(): LeaderHost | FollowerHost {
    this.#seat.checkUsable();
    const host = this.#seat.host;
    if (host === undefined) {
      throw new IoliteError("not-held", "this tab takes the lead of the client just now: look again in a moment");
    }
    return host;
  }

  #call(name: string, args: unknown): MutationHandle {
    this.#mutators[name]?.parser?.parse(args);
    return this.#callJson(name, encodeArguments(args));
  }

  #callJson(name: string, json: string): MutationHandle {
    this.#seat.checkUsable();
    return begin(this.#seat, name, json);
  }

  /** While the tab takes the lead there is no core, and nobody knows what the text is. */
  #editJson({ table, key, column }: LiveCellName, at: number, removed: number, inserted: string): string {
    this.#seat.checkUsable();
    const host = this.#seat.host;
    if (host === undefined) {
      throw new IoliteError("not-ready", "this tab takes the lead of the client just now: edit the text again in a moment");
    }
    return host.callOnly((core) => core.liveEdit(table, [...key], column, at, removed, inserted, newId()));
  }
}

/** A rejection that the app does not handle is no uncaught error of its page. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
