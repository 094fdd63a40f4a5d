/**
 * The logs that a tab has joined, and the calls of their operations.
 *
 * Invariant: only a tab that leads joins logs, and it leads for as long as it works.
 */

import { IoliteError } from "../errors.js";
import type { Mutator } from "../mutators.js";
import { fullName, LogDefinition, logsOf, operationsOf } from "../schema/log.js";
import type { Closure } from "../transaction/runClosure.js";
import { isInstance } from "../arguments/checks.js";
import { encodeArguments } from "../arguments/stored.js";
import { closureOfCall } from "./closureOfCall.js";
import type { LeaderHost } from "./leaderHost.js";
import { Listeners } from "./listeners.js";
import type { Seat } from "./seat.js";
import type { Log, LogMember, MutationHandle, Stop } from "./types.js";

/** How far a log is replayed, why no further, and after how many entries another member has another state. */
type State = readonly [position: number, stopped: string | undefined, differs: number | undefined];

type Operations = Readonly<Record<string, Mutator>>;

export class Logs {
  readonly #seat: Seat;
  readonly #operations: ReadonlyMap<string, Mutator>;
  readonly #byNumber = new Map<number, OneLog>();

  constructor(seat: Seat) {
    this.#seat = seat;
    this.#operations = operationsOf(seat.options.schema.tables);
  }

  join(definition: LogDefinition, instance: unknown): OneLog {
    if (!isInstance(definition, LogDefinition)) {
      throw new IoliteError("call", "log(definition, instance) needs the log that defineLog returned");
    }
    const name = JSON.stringify(definition.name);
    if (logsOf(this.#seat.options.schema.tables).get(definition.name) !== definition) {
      throw new IoliteError("call", `the schema of this client has another log ${name}, or none: add the tables of this one, ...log.tables`);
    }
    const host = leaderOf(this.#seat);
    const number = host.callOnly((core) => core.joinLog(definition.name, instance));
    const known = this.#byNumber.get(number);
    if (known !== undefined) {
      return known;
    }
    const joined = new OneLog(this.#seat, definition, number);
    this.#byNumber.set(number, joined);
    host.drain();
    this.#seat.worked();
    return joined;
  }

  /** The closure of an operation, for when it is called and when it is replayed; undefined if no log has one of that name. */
  closureOf(name: string, args: string | undefined): Closure | undefined {
    const operation = this.#operations.get(name);
    return operation === undefined ? undefined : closureOfCall(operation, args);
  }

  /** Notes that nothing more of a log is replayed here. */
  stopped(number: number | undefined, reason: string): void {
    const log = number === undefined ? undefined : this.#byNumber.get(number);
    if (log !== undefined) {
      this.#seat.notifier.add(() => log.callBack(reason));
    }
  }

  /** Warns that another member has another state: nobody but the app's developer can do something about it. */
  differs(number: number | undefined, index: number): void {
    const log = number === undefined ? undefined : this.#byNumber.get(number);
    if (log !== undefined) {
      console.warn(`the log ${log.name}: after ${index} entries another member has another state. An operation does not do the same on every device.`);
    }
  }

  /** Notes that the members of a log are others. */
  membersChanged(number: number | undefined): void {
    const log = number === undefined ? undefined : this.#byNumber.get(number);
    if (log !== undefined) {
      this.#seat.notifier.add(() => log.callBackMembers());
    }
  }
}

class OneLog implements Log<Operations> {
  readonly do: Record<string, (args?: unknown) => MutationHandle> = {};
  readonly name: string;
  readonly #seat: Seat;
  readonly #number: number;
  readonly #ends = new Listeners<string>();
  readonly #memberships = new Listeners<readonly LogMember[]>();
  #lastMembers: readonly LogMember[] = [];
  #last: State = [0, undefined, undefined];

  constructor(seat: Seat, { name, operations }: LogDefinition, number: number) {
    this.#seat = seat;
    this.#number = number;
    this.name = name;
    for (const [own, { parser }] of Object.entries(operations as Operations)) {
      this.do[own] = (args) => {
        parser?.parse(args);
        return this.#call(name, own, encodeArguments(args));
      };
    }
  }

  get position(): number {
    return this.#state[0];
  }

  get stopped(): string | undefined {
    return this.#state[1];
  }

  get differs(): number | undefined {
    return this.#state[2];
  }

  rebaseEvery(ms: number): void {
    const host = leaderOf(this.#seat);
    host.callOnly((core) => core.rebaseLogEvery(this.#number, ms));
    host.drain();
  }

  get members(): readonly LogMember[] {
    const host = this.#seat.host;
    if (host?.role === "leader") {
      const parts = host.callOnly((core) => core.logMembers(this.#number)) as readonly (string | boolean)[];
      this.#lastMembers = readMembers(parts);
    }
    return this.#lastMembers;
  }

  onMembers(callback: (members: readonly LogMember[]) => void): Stop {
    return this.#memberships.add(callback);
  }

  callBackMembers(): void {
    const { members } = this;
    this.#memberships.deliver(() => members);
  }

  onStopped(callback: (reason: string) => void): Stop {
    return this.#ends.add(callback);
  }

  leave(): void {
    const host = leaderOf(this.#seat);
    host.callOnly((core) => core.leaveLog(this.#number));
    host.drain();
    this.#seat.worked();
  }

  callBack(reason: string): void {
    this.#ends.deliver(() => reason);
  }

  /** How far it is replayed, and why no further. Once the client is closed: as it was known last. */
  get #state(): State {
    const host = this.#seat.host;
    if (host?.role === "leader") {
      this.#last = host.callOnly((core) => core.logState(this.#number)) as readonly unknown[] as State;
    }
    return this.#last;
  }

  #call(log: string, own: string, json: string): MutationHandle {
    const host = leaderOf(this.#seat);
    const counter = host.callOnly((core, _, wallMs) => core.operateLog(this.#number, own, json, wallMs));
    const handle = this.#seat.book.begin(counter, fullName(log, own), json, () => this.#cancelled(counter));
    host.drain();
    this.#seat.changed();
    return handle;
  }

  #cancelled(counter: number): boolean {
    const host = this.#seat.host;
    const cancelled = host?.role === "leader" && host.call((core) => core.cancel(counter));
    this.#seat.notifier.flush();
    return cancelled;
  }
}

/** Origins, and whether each is this client, in turn. */
function readMembers(parts: readonly (string | boolean)[]): readonly LogMember[] {
  const origins = parts.filter((_, place) => place % 2 === 0);
  return origins.map((origin, place) => ({ origin: String(origin), own: parts[2 * place + 1] === true }));
}

function leaderOf(seat: Seat): LeaderHost {
  seat.checkUsable();
  if (seat.host?.role !== "leader") {
    throw new IoliteError(
      "not-leading",
      "a log is joined only in the tab that holds the connection, and another one does: join it there, or close that tab",
    );
  }
  return seat.host;
}
