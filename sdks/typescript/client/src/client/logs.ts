/**
 * The logs that a tab has joined, and the calls of their operations.
 *
 * Invariants: only a tab that leads joins logs; what the app holds of a log stays that log's, whichever core leads in the tab. Numbers of logs are those of one core.
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
import { operate } from "./ownCall.js";
import type { Seat } from "./seat.js";
import type { Log, LogMember, MutationHandle, Stop } from "./types.js";

/** How far a log is replayed, why no further, and after how many entries another member has another state. */
type State = readonly [position: number, stopped: string | undefined, differs: number | undefined];

const NOTHING_REPLAYED: State = [0, undefined, undefined];

type Operations = Readonly<Record<string, Mutator>>;

export class Logs {
  readonly #seat: Seat;
  readonly #operations: ReadonlyMap<string, Mutator>;
  /** By name and instance, all that the app was given. */
  readonly #byKey = new Map<string, OneLog>();
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
    const key = JSON.stringify([definition.name, encodeArguments(instance)]);
    const log = this.#byNumber.get(number) ?? this.#byKey.get(key) ?? new OneLog(this.#seat, definition, structuredClone(instance));
    this.#byKey.set(key, log);
    this.#byNumber.set(number, log);
    log.joined(host, number);
    host.drain();
    this.#seat.worked();
    return log;
  }

  /** Another core leads in this tab. It joins what this tab had joined. The caller drains. */
  attach(host: LeaderHost): void {
    this.#byNumber.clear();
    for (const log of this.#byKey.values()) {
      const number = log.rejoined(host);
      if (number !== undefined) {
        this.#byNumber.set(number, log);
      }
    }
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
  readonly #instance: unknown;
  /** In the core that leads in this tab, or led last; undefined once it is left. */
  #number: number | undefined;
  #rebasedMs = 0;
  readonly #ends = new Listeners<string>();
  readonly #memberships = new Listeners<readonly LogMember[]>();
  #lastMembers: readonly LogMember[] = [];
  #last = NOTHING_REPLAYED;

  constructor(seat: Seat, { name, operations }: LogDefinition, instance: unknown) {
    this.#seat = seat;
    this.#instance = instance;
    this.name = name;
    for (const [own, { parser }] of Object.entries(operations as Operations)) {
      this.do[own] = (args) => {
        parser?.parse(args);
        return this.#call(name, own, encodeArguments(args));
      };
    }
  }

  /** Notes that it is joined in this core, under this number. */
  joined(host: LeaderHost, number: number): void {
    this.#number = number;
    if (this.#rebasedMs > 0) {
      host.callOnly((core) => core.rebaseLogEvery(number, this.#rebasedMs));
    }
  }

  /** Another core leads in this tab. Returns its number for this log; undefined if the log was left, or has no place beside others any more. */
  rejoined(host: LeaderHost): number | undefined {
    if (this.#number === undefined) {
      return undefined;
    }
    try {
      const number = host.callOnly((core) => core.joinLog(this.name, this.#instance));
      this.joined(host, number);
      return number;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#number = undefined;
      this.#last = [this.#last[0], reason, this.#last[2]];
      this.#seat.notifier.add(() => this.callBack(reason));
      return undefined;
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
    const number = this.#checkJoined();
    host.callOnly((core) => core.rebaseLogEvery(number, ms));
    this.#rebasedMs = ms;
    host.drain();
  }

  get members(): readonly LogMember[] {
    const [host, number] = [this.#seat.host, this.#number];
    if (host?.role === "leader" && number !== undefined) {
      const parts = host.callOnly((core) => core.logMembers(number)) as readonly (string | boolean)[];
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
    const number = this.#number;
    if (number === undefined) {
      return;
    }
    host.callOnly((core) => core.leaveLog(number));
    [this.#number, this.#last, this.#lastMembers, this.#rebasedMs] = [undefined, NOTHING_REPLAYED, [], 0];
    host.drain();
    this.#seat.worked();
  }

  callBack(reason: string): void {
    this.#ends.deliver(() => reason);
  }

  /** How far it is replayed, and why no further. Once the client is closed: as it was known last. */
  get #state(): State {
    const [host, number] = [this.#seat.host, this.#number];
    if (host?.role === "leader" && number !== undefined) {
      this.#last = host.callOnly((core) => core.logState(number)) as readonly unknown[] as State;
    }
    return this.#last;
  }

  #checkJoined(): number {
    if (this.#number === undefined) {
      throw new IoliteError("call", `the log ${JSON.stringify(this.name)} is not joined: join it first`);
    }
    return this.#number;
  }

  #call(name: string, operation: string, json: string): MutationHandle {
    const host = leaderOf(this.#seat);
    // The call itself would join it again, and it was left on purpose.
    this.#checkJoined();
    return operate(this.#seat, host, { name, instance: this.#instance, operation }, fullName(name, operation), json);
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
