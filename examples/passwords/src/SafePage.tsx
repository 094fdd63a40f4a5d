/** The accounts, the conflicts above them, and the dialog that is open. */

import type { Id } from "@iolite/client";
import { type Ref, useRef, useState } from "react";

import type { Account, AccountConflict } from "./account";
import { AccountDialog } from "./AccountDialog";
import { AccountList } from "./AccountList";
import { ConflictDialog } from "./ConflictDialog";
import type { Safe, SeenAccount } from "./safe";

export function SafePage({ safe }: { safe: Safe }) {
  const [wanted, search] = useState("");
  const [opened, open] = useState<SeenAccount | "new">();
  const [asked, ask] = useState<Id>();
  const conflicts = useRef<HTMLElement>(null);
  const conflict = safe.conflicts.find(({ id }) => id === asked);
  if (asked !== undefined && conflict === undefined) {
    // It has ended. If the account is in conflict again, that is another question.
    ask(undefined);
  }
  return (
    <>
      <div className="tools">
        <input type="search" aria-label="Search accounts" placeholder="Search" value={wanted} onChange={({ target }) => search(target.value)} />
        <button className="main" aria-haspopup="dialog" disabled={safe.accounts === undefined} onClick={() => open("new")}>
          Add account
        </button>
      </div>
      {safe.problem !== undefined && <p role="alert">{safe.problem}</p>}
      <Conflicts ref={conflicts} conflicts={safe.conflicts} onAsk={ask} />
      <AccountList safe={safe} wanted={wanted} onOpen={open} />
      {opened !== undefined && <AccountDialog safe={safe} seen={opened === "new" ? undefined : opened} onClose={() => open(undefined)} />}
      {conflict !== undefined && (
        // Another version of a side is another question.
        <ConflictDialog
          key={JSON.stringify(conflict)}
          conflict={conflict}
          onDecide={(choice) => {
            // The button that opened the dialog goes with the conflict.
            conflicts.current?.focus();
            safe.decide(conflict, choice);
          }}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  );
}

interface ConflictsProps {
  readonly ref: Ref<HTMLElement>;
  readonly conflicts: readonly AccountConflict[];
  readonly onAsk: (id: Id) => void;
}

function Conflicts({ ref, conflicts, onAsk }: ConflictsProps) {
  return (
    <section ref={ref} tabIndex={-1} role="status" aria-label="Conflicts">
      {conflicts.length > 0 && (
        <div className="conflicts card">
          <p>
            <strong>Changed on two devices.</strong> Nothing is lost: choose what to keep.
          </p>
          <ul>
            {conflicts.map((conflict) => (
              <li key={conflict.id} data-conflict={nameOf(conflict)}>
                <span>{nameOf(conflict)}</span>
                <button aria-haspopup="dialog" aria-label={`Compare ${nameOf(conflict)}`} onClick={() => onAsk(conflict.id)}>
                  Compare
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function nameOf({ base, mine, theirs }: AccountConflict): string {
  const known: Account | undefined = mine ?? theirs ?? base;
  return known?.name ?? "An account";
}
