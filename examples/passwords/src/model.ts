/** Accounts in two ways: each is a row, and all of them are one blob of one row. Both tables are causal, so nothing that was typed is lost unseen. */

import { type BlobValue, type ClientOf, defineMutators, defineSchema, type Id, mutator, type RowVersion, s, table } from "@iolite/client";

import type { Account, Fields } from "./account";

export const schema = defineSchema({
  accounts: table({
    id: s.id(),
    name: s.string(),
    user: s.string(),
    password: s.string(),
    url: s.string(),
    notes: s.string(),
  }).causal({ onConflict: "manual" }),
  vaults: table({ id: s.string(), content: s.blob() }).causal({ onConflict: "manual" }),
});

/** The key of the one row of `vaults`. */
export const VAULT = "all";

/** The version that the person saw. Without one it is the row as it is now. */
interface Seen {
  readonly base: RowVersion | null;
}

interface Change extends Seen {
  readonly id: Id;
  readonly changes: Partial<Fields>;
}

/** `id`: the account that was changed in it, for the mark beside it. */
interface Save extends Seen {
  readonly id: Id;
  readonly content: BlobValue;
}

function on(base: RowVersion | null): { readonly base?: RowVersion } {
  return base === null ? {} : { base };
}

export const mutators = defineMutators(schema, {
  add: mutator((tx, account: Account) => tx.accounts.insert(account)),
  change: mutator((tx, { id, changes, base }: Change) => tx.accounts.update(id, changes, on(base))),
  remove: mutator((tx, { id, base }: Seen & { readonly id: Id }) => tx.accounts.delete(id, on(base))),
  save: mutator((tx, { content, base }: Save) =>
    tx.vaults.has(VAULT) ? tx.vaults.update(VAULT, { content }, on(base)) : tx.vaults.insert({ id: VAULT, content }),
  ),
});

export type App = ClientOf<typeof mutators>;

declare module "@iolite/react" {
  interface Register {
    client: App;
  }
}
