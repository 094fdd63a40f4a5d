/** What can go wrong, as classes with codes. Messages say what to do. */

export type ErrorCode =
  | "schema"
  | "transaction"
  | "integer-range"
  | "not-synchronous"
  | "not-repeatable"
  | "not-ready"
  | "not-held"
  | "not-leading"
  | "offline"
  | "pending"
  | "call"
  | "storage"
  | "closed"
  | "rejected"
  | "quarantined"
  | "cancelled"
  | "unavailable"
  | "failed";

/** Everything that this package throws on purpose, but `Abort` and `IntegerRangeError`. */
export class IoliteError extends Error {
  override readonly name: string = "IoliteError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The schema cannot be used. */
export class SchemaError extends IoliteError {
  override readonly name = "SchemaError";

  constructor(message: string) {
    super("schema", message);
  }
}

/** A closure asked for something that does not fit: a missing row, a value of another type, a write while only reading. */
export class TransactionError extends IoliteError {
  override readonly name = "TransactionError";

  constructor(message: string, code: ErrorCode = "transaction", options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** Thrown through a closure whose data is not here. It is no error: the closure runs again once the data is. Apps do not see the class. */
export class Stopped extends Error {
  override readonly name = "Stopped";

  constructor() {
    super("the data is being fetched: let this error pass, and the closure will run again");
  }
}

/** A whole number that `s.int()` cannot hold exactly. */
export class IntegerRangeError extends RangeError {
  override readonly name = "IntegerRangeError";
  readonly code = "integer-range" satisfies ErrorCode;
}

/** Thrown in a closure to give up on purpose. The mutation is rejected with the reason, which is for the user. */
export class Abort extends Error {
  override readonly name = "Abort";

  constructor(readonly reason: string) {
    super(reason);
  }
}

/** A mutation ended without effect. */
export class MutationError extends IoliteError {
  override readonly name = "MutationError";

  constructor(
    override readonly code: "rejected" | "quarantined" | "cancelled",
    /** For `rejected` the reason that the closure gave to `Abort`. */
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(code, reason, options);
  }
}
