/** Conflicts where an account is a row: the client finds them, keeps them, and carries out what the person decides. */

import { useConflicts } from "@iolite/react";
import { useState } from "react";

import type { Safe } from "../safe";

const KEPT = { mine: "local", theirs: "server" } as const;

export function useRowConflicts(): Pick<Safe, "conflicts" | "problem" | "decide"> {
  const { rows, resolve } = useConflicts("accounts");
  const [problem, tell] = useState<string>();
  return {
    conflicts: rows.map(({ key, base, local, server }) => ({ id: key, base, mine: local, theirs: server })),
    problem,
    decide: ({ id }, choice) => {
      resolve((all) => all.find(({ key }) => key === id)?.keep(typeof choice === "string" ? KEPT[choice] : choice)).then(
        () => tell(undefined),
        (error: unknown) => tell(String(error)),
      );
    },
  };
}
