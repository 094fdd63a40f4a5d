/**
 * Merges two vaults that come from one.
 *
 * Invariant: what one side changed is kept. What both changed to different accounts is a conflict, and is in `accounts` only once it is decided.
 */

import { type Account, type AccountConflict, type Choice, same } from "../account.js";

export interface Merge {
  /** The accounts that are in no conflict. */
  readonly accounts: readonly Account[];
  readonly conflicts: readonly AccountConflict[];
}

export function merge(base: readonly Account[], mine: readonly Account[], theirs: readonly Account[]): Merge {
  const [before, here, there] = [byId(base), byId(mine), byId(theirs)];
  const accounts: Account[] = [];
  const conflicts: AccountConflict[] = [];
  for (const id of new Set([...before.keys(), ...here.keys(), ...there.keys()])) {
    const conflict = { id, base: before.get(id), mine: here.get(id), theirs: there.get(id) };
    if (same(conflict.theirs, conflict.base) || same(conflict.mine, conflict.theirs)) {
      accounts.push(...present(conflict.mine));
    } else if (same(conflict.mine, conflict.base)) {
      accounts.push(...present(conflict.theirs));
    } else {
      conflicts.push(conflict);
    }
  }
  return { accounts, conflicts };
}

/** The account that a decision leaves; none if the side that is kept has deleted it. */
export function decided(conflict: AccountConflict, choice: Choice): readonly Account[] {
  return present(typeof choice === "string" ? conflict[choice] : { id: conflict.id, ...choice });
}

function byId(accounts: readonly Account[]): ReadonlyMap<Account["id"], Account> {
  return new Map(accounts.map((account) => [account.id, account]));
}

function present(account: Account | undefined): readonly Account[] {
  return account === undefined ? [] : [account];
}
