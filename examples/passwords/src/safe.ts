/** A way to keep accounts, as the page needs it. There are two: `rows/useRows.ts` and `vault/useVault.ts`. */

import type { Id, RowVersion } from "@iolite/client";
import type { Mark } from "examples-page";

import type { Account, AccountConflict, Choice, Fields } from "./account";

/** An account as a person saw it. */
export interface SeenAccount extends Account {
  /** The row's, where an account is a row. */
  readonly version?: RowVersion | undefined;
}

export interface Safe {
  /** Undefined until they are here. */
  readonly accounts: readonly SeenAccount[] | undefined;
  readonly conflicts: readonly AccountConflict[];
  /** Why something is not shown or not kept. */
  readonly problem: string | undefined;
  /** How far the last change of an account has got. */
  mark(id: Id): Mark;
  add(fields: Fields): void;
  change(seen: SeenAccount, fields: Fields): void;
  remove(seen: SeenAccount): void;
  decide(conflict: AccountConflict, choice: Choice): void;
}
