/** Conflicts where an account is a row: the client finds them, keeps them, and carries out what the person decides. */

import { useConflicts } from "@iolite/react";
import { useEffect, useState } from "react";

import { same } from "../account";
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
    settle((all) => all.filter(({ local, server }) => same(local, server)).forEach((row) => row.keep("server")));
  }, [rows]);
  return {
    conflicts: rows.map(({ key, base, local, server }) => ({ id: key, base, mine: local, theirs: server })).filter(({ mine, theirs }) => !same(mine, theirs)),
    problem,
    decide: ({ id, mine, theirs }, choice) =>
      settle((all) => {
        // A side that has moved since the person looked is looked at again.
        const seen = all.find(({ key, local, server }) => key === id && same(local, mine) && same(server, theirs));
        seen?.keep(typeof choice === "string" ? KEPT[choice] : choice);
      }),
  };
}
