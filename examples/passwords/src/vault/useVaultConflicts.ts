/**
 * The conflict where all accounts are one blob: the client says that the blob is in conflict, and the app has to find out which accounts are.
 *
 * Invariants:
 * - a decision holds for the two accounts that the person saw, and for no others;
 * - a merge is kept only over the two vaults that it was made of.
 */

import type { BlobValue } from "@iolite/client";
import { useClient, useConflicts, useConnectionState } from "@iolite/react";
import { useEffect, useState } from "react";

import type { AccountConflict, Choice } from "../account";
import type { Safe } from "../safe";
import { packed, unpacked } from "./content";
import { decided, merge, type Merge } from "./merge";

interface Side {
  readonly content: BlobValue;
}

/** A merge of two vaults. */
interface Made extends Merge {
  /** The digests of both. */
  readonly of: string;
}

export function useVaultConflicts(): Pick<Safe, "conflicts" | "problem" | "decide"> {
  const client = useClient();
  const isOnline = useConnectionState().status === "online";
  const { rows, resolve } = useConflicts("vaults");
  const [row] = rows;
  const [made, setMade] = useState<Made>();
  const [decisions, setDecisions] = useState<ReadonlyMap<string, Choice>>(new Map());
  const [problem, tell] = useState<string>();
  const fails = (error: unknown): void => tell(String(error));

  const now = row && nameOf(row);
  useEffect(() => {
    tell(undefined);
    const read = async (side: Side | undefined) => (side === undefined ? [] : unpacked(await client.blobs.open(side.content).bytes()));
    if (row !== undefined && now !== undefined) {
      // A base that this device does not have any more counts as empty: then the person is asked more.
      const reading = Promise.all([read(row.base).catch(() => []), read(row.local), read(row.server)]);
      reading.then(([base, mine, theirs]) => setMade({ of: now, ...merge(base, mine, theirs) }), fails);
    } else {
      setDecisions(new Map());
    }
  }, [client, now, isOnline]);

  const merged = made?.of === now ? made : undefined;
  const open = merged?.conflicts.filter((conflict) => !decisions.has(keyOf(conflict))) ?? [];
  const isDecided = merged !== undefined && open.length === 0;
  useEffect(() => {
    const keep = async ({ of, accounts, conflicts }: Made): Promise<void> => {
      const chosen = conflicts.flatMap((conflict) => decided(conflict, decisions.get(keyOf(conflict)) ?? "mine"));
      const content = await client.blobs.put(packed([...accounts, ...chosen]));
      await resolve((all) => all.filter((each) => nameOf(each) === of).forEach((each) => each.keep({ content })));
    };
    if (isDecided) {
      keep(merged).catch(fails);
    }
  }, [merged, isDecided]);

  return {
    conflicts: open,
    problem,
    decide: (conflict, choice) => setDecisions((before) => new Map(before).set(keyOf(conflict), choice)),
  };
}

function nameOf({ local, server }: { readonly local: Side | undefined; readonly server: Side | undefined }): string {
  return `${local?.content.digest} ${server?.content.digest}`;
}

function keyOf({ mine, theirs }: AccountConflict): string {
  return JSON.stringify([mine ?? null, theirs ?? null]);
}
