/** The second way: all accounts are one blob of one row. The app packs them, and what two devices did to them is merged by its own code. */

import { newId } from "@iolite/client";
import { useClient, useReactive } from "@iolite/react";
import { useState } from "react";

import type { Account, AccountConflict } from "../account";
import { VAULT } from "../model";
import type { Safe } from "../safe";
import { useAccountMarks } from "../useAccountMarks";
import { packed, unpacked } from "./content";
import { decided, merge } from "./merge";
import { useContent } from "./useContent";
import { useVaultConflicts } from "./useVaultConflicts";

export function useVault(): Safe {
  const { data: row } = useReactive((tx) => ({ content: tx.vaults.get(VAULT)?.content }), []);
  const { accounts, problem: unread } = useContent(row);
  const { conflicts, problem, decide } = useVaultConflicts();
  const { late, write } = useWrite();
  return {
    accounts,
    mark: useAccountMarks(),
    problem: unread ?? problem ?? late.problem,
    conflicts: [...late.conflicts, ...conflicts],
    add: (fields) => write(undefined, { id: newId(), ...fields }),
    change: (seen, fields) => write(seen, { id: seen.id, ...fields }),
    remove: (seen) => write(seen, undefined),
    decide: (conflict, choice) => {
      if (late.conflicts.includes(conflict)) {
        late.end(conflict);
        write(conflict.theirs, decided(conflict, choice)[0]);
      } else {
        decide(conflict, choice);
      }
    },
  };
}

/** Writes an account into the vault as it is by then. If the account is another than was seen, the person is asked: `late`. */
function useWrite() {
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
    late: { conflicts, problem, end: (conflict: AccountConflict) => setConflicts((before) => before.filter((each) => each !== conflict)) },
    // One after the other, in all tabs: each begins with the vault that the one before it has left.
    write: (seen: Account | undefined, made: Account | undefined): void => {
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
