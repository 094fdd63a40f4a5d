/** The second way: all accounts are one blob of one row. The app packs them, and what two devices did to them is merged by its own code. */

import { newId } from "@iolite/client";
import { useReactive } from "@iolite/react";

import { VAULT } from "../model";
import type { Safe } from "../safe";
import { useAccountMarks } from "../useAccountMarks";
import { decided } from "./merge";
import { useContent } from "./useContent";
import { useVaultConflicts } from "./useVaultConflicts";
import { useWrite } from "./useWrite";

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
