/** Conflicts where an account is a row: the client finds them, keeps them, and carries out what the person decides. */

import { useConflicts } from "@iolite/react";
import { useEffect, useState } from "react";

import { differing, type Fields } from "../account";
import type { Safe } from "../safe";

const KEPT = { mine: "local", theirs: "server" } as const;

export function useRowConflicts(): Pick<Safe, "conflicts" | "problem" | "decide"> {
  const { rows, resolve } = useConflicts("accounts");
  const [problem, tell] = useState<string>();
  const settle = (decide: Parameters<typeof resolve>[0]): void => {
    resolve(decide).then(
      () => tell(undefined),
      (error: unknown) => tell(String(error)),
    );
  };
  useEffect(() => {
    // Two who did the same agree: nobody has to be asked.
    settle((all) => all.filter(agree).forEach((row) => row.keep("server")));
  }, [rows]);
  return {
    conflicts: rows.filter((row) => !agree(row)).map(({ key, base, local, server }) => ({ id: key, base, mine: local, theirs: server })),
    problem,
    decide: ({ id }, choice) => settle((all) => all.find(({ key }) => key === id)?.keep(typeof choice === "string" ? KEPT[choice] : choice)),
  };
}

function agree({ local, server }: { readonly local: Fields | undefined; readonly server: Fields | undefined }): boolean {
  return local === undefined || server === undefined ? local === server : differing(local, server).length === 0;
}
