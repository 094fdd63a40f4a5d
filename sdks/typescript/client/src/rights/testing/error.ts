/** Why a test of rights fails. */

/** `denied`: a user may not do what the test says. `allowed`: a user may, against the test. `mistake`: the test does not fit the schema. */
export type RightsTestCode = "denied" | "allowed" | "mistake";

/** A test of rights fails. The message has the rule as a tree, or says what to write. */
export class RightsTestError extends Error {
  override readonly name = "RightsTestError";

  constructor(
    readonly code: RightsTestCode,
    message: string,
  ) {
    super(message);
  }
}
