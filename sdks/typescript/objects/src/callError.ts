/** Why a call has no result: one class, as `CallError` in Rust. Messages say what to do. */

export type CallErrorKind = "app" | "notRun" | "fenced" | "gone" | "inDoubt" | "broke";

/** Why a call did not run. */
export type NotRunReason =
  | "unreachable"
  | "notPermitted"
  | "noSuchMethod"
  | "wrongVersion"
  | "noHostForClass"
  | "leaseUnavailable"
  | "conflict"
  | "wouldDeadlock"
  | "tooLarge"
  | "busy"
  | "badArguments";

/** Whether a method ran. `unknown`: it may have run, or what it did is lost. */
export type Ran = "no" | "yes" | "unknown";

/** Details of an error beside its kind. */
export interface CallErrorDetails {
  readonly reason?: NotRunReason;
  readonly value?: unknown;
  readonly rpc?: string;
  readonly chain?: readonly string[];
}

const RAN: Readonly<Record<CallErrorKind, Ran>> = { app: "yes", notRun: "no", fenced: "unknown", gone: "no", inDoubt: "unknown", broke: "yes" };

/** A call has no result. */
export class CallError extends Error {
  override readonly name = "CallError";
  /** The reason of `notRun`. */
  declare readonly reason?: NotRunReason;
  /** The value that the method threw, for `app`. An `Error` arrives as its name, its message and its own fields. */
  declare readonly value?: unknown;
  /** The name of the call in logs, for `inDoubt`. */
  declare readonly rpc?: string;
  /** The objects whose methods wait for each other, for `wouldDeadlock`: from the outermost, as `Class/id`. */
  declare readonly chain?: readonly string[];

  constructor(
    readonly kind: CallErrorKind,
    message: string,
    details: CallErrorDetails = {},
  ) {
    super(message);
    Object.assign(this, details);
  }

  /** Whether the method ran. */
  get ran(): Ran {
    return RAN[this.kind];
  }
}

/** A failure as the module gives it: `[kind]`, `[kind, detail]`, or `["notRun", reason, detail]`. */
export type Failure = readonly [kind: CallErrorKind, detail?: unknown, more?: unknown];

/** `what`: names the call, such as `TodoList/home.add`. `decode`: reads the app's own error. */
export function callErrorOf(failure: Failure, what: string, decode: (bytes: Uint8Array) => unknown): CallError {
  const [kind, detail, more] = failure;
  switch (kind) {
    case "app":
      return appError(what, decode(detail as Uint8Array));
    case "notRun":
      return notRun(detail as NotRunReason, what, more);
    case "fenced":
      return new CallError(kind, `${what}: the node was not the object's any more, and what the method did is lost. Read the object, and call again if the change is not there`);
    case "gone":
      return new CallError(kind, `${what} did not run: there is no such object. Create it, or find out who removed it`);
    case "inDoubt":
      return new CallError(kind, `${what} may have run: its answer is lost (call ${String(detail)}). Read the object before you call again`, { rpc: String(detail) });
    case "broke":
      return new CallError(kind, `${what} ran and ended without a result: ${String(detail)}`);
  }
}

function appError(what: string, value: unknown): CallError {
  const message = typeof value === "object" && value !== null ? (value as { message?: unknown }).message : value;
  return new CallError("app", typeof message === "string" && message !== "" ? message : `${what} threw ${JSON.stringify(value, shownBigint) ?? "nothing"}`, { value });
}

function shownBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

/** A call that did not run. `detail` is as the module gives it: of another version its number, of a cycle the pairs of class and id, else a text. */
export function notRun(reason: NotRunReason, what: string, detail?: unknown): CallError {
  const chain = reason === "wouldDeadlock" ? (detail as readonly (readonly [string, string])[]).map(([type, id]) => `${type}/${id}`) : undefined;
  return new CallError("notRun", `${what} did not run: ${remedy(reason, detail, chain)}`, chain === undefined ? { reason } : { reason, chain });
}

function remedy(reason: NotRunReason, detail: unknown, chain: readonly string[] = []): string {
  switch (reason) {
    case "unreachable":
      return "the node that has the object cannot be reached. Call again when it can";
    case "notPermitted":
      return "this user or device may not do that. Look at `devices` of the class";
    case "noSuchMethod":
      return "the class has no such method where the object is. Look at the spelling, and at names that begin with _";
    case "wrongVersion":
      return `the object's node has version ${String(detail)} of the class. Bring both sides to one version`;
    case "noHostForClass":
      return 'no node that is connected runs the class. Start one with it, or say devices: "hold" and list the class in `classes` to hold its objects here';
    case "leaseUnavailable":
      return "another node has the lease. Call again later";
    case "conflict":
      return "somebody else was first. Read the object, and decide again";
    case "wouldDeadlock":
      return `each of these objects would wait for the next one: ${chain.join(" -> ")}. Call the last one after the first method has ended, or mark the called method as a read`;
    case "tooLarge":
      return `${String(detail)}. Send less, or send it in parts`;
    case "busy":
      return "too much waits there. Call again later";
    case "badArguments":
      return String(detail);
  }
}
