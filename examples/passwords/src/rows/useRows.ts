/** The first way: an account is a row. */

import { newId } from "@iolite/client";
import { useMutation, useReactive } from "@iolite/react";

import { differing, type Fields } from "../account";
import type { Safe, SeenAccount } from "../safe";
import { useAccountMarks } from "../useAccountMarks";
import { useRowConflicts } from "./useRowConflicts";

export function useRows(): Safe {
  const { data: accounts } = useReactive((tx) => tx.accounts.range().map((row) => ({ ...row, version: tx.accounts.version(row.id) })), []);
  const [add, change, remove] = [useMutation("add"), useMutation("change"), useMutation("remove")];
  return {
    accounts,
    mark: useAccountMarks(),
    add: (fields) => void add({ id: newId(), ...fields }),
    change: (seen, fields) => {
      const changes = changesOf(seen, fields);
      if (Object.keys(changes).length > 0) {
        change({ id: seen.id, changes, base: seen.version ?? null });
      }
    },
    remove: ({ id, version }) => void remove({ id, base: version ?? null }),
    ...useRowConflicts(),
  };
}

function changesOf(seen: SeenAccount, fields: Fields): Partial<Fields> {
  return Object.fromEntries(differing(seen, fields).map((field) => [field, fields[field]]));
}
