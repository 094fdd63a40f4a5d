/**
 * Writes an account into the vault as it is by then.
 *
 * Invariant: an account that is another than the person saw is not covered. The person is asked: `late`.
 */

import { useClient } from "@iolite/react";
import { useState } from "react";

import type { Account, AccountConflict } from "../account";
import { VAULT } from "../model";
import { packed, unpacked } from "./content";
import { merge } from "./merge";

interface Late {
  readonly conflicts: readonly AccountConflict[];
  readonly problem: string | undefined;
  end(conflict: AccountConflict): void;
}

type Write = (seen: Account | undefined, made: Account | undefined) => void;

export function useWrite(): { readonly late: Late; readonly write: Write } {
  const client = useClient();
  const [conflicts, setConflicts] = useState<readonly AccountConflict[]>([]);
  const [problem, tell] = useState<string>();
  const save = async (seen: Account | undefined, made: Account | undefined): Promise<void> => {
    const [content, version] = client.peek((tx) => [tx.vaults.get(VAULT)?.content, tx.vaults.version(VAULT)] as const);
    const accounts = content === undefined ? [] : unpacked(await client.blobs.open(content).bytes());
    const id = (seen ?? made)?.id;
    const merged = merge(present(seen), present(made), accounts.filter((account) => account.id === id));
    if (id === undefined || merged.conflicts.length > 0) {
      setConflicts((before) => [...before, ...merged.conflicts]);
      return;
    }
    const blob = await client.blobs.put(packed([...accounts.filter((account) => account.id !== id), ...merged.accounts]));
    await client.mutate.save({ id, content: blob, base: version ?? null }).until("durable");
  };
  return {
    late: { conflicts, problem, end: (conflict) => setConflicts((before) => before.filter((each) => each !== conflict)) },
    // One after the other, in all tabs: each begins with the vault that the one before it has left.
    write: (seen, made) => {
      navigator.locks.request("vault", () => save(seen, made)).then(
        () => tell(undefined),
        (error: unknown) => tell(String(error)),
      );
    },
  };
}

function present(account: Account | undefined): readonly Account[] {
  return account === undefined ? [] : [account];
}
