/** What was refused for good, with the reason, until it is dismissed. The same thing several times over is told once. */

import type { RefusedMutation } from "@iolite/client";
import { useClient, useRefused } from "@iolite/react";

import { Icon } from "../styles/Icon";
import { mutationWords, type NameOf } from "./mutationWords";

/** Of more than these, only the latest are shown: the plan has to stay in sight. */
const SHOWN = 2;

/** Refusals that read the same. */
interface Alike {
  readonly words: string;
  readonly reason: string;
  readonly all: RefusedMutation[];
}

export function Refusals({ nameOf }: { nameOf: NameOf }) {
  const client = useClient();
  const groups = grouped(useRefused(), nameOf);
  const hidden = groups.slice(0, -SHOWN).flatMap(({ all }) => all);
  const dismiss = (mutations: readonly RefusedMutation[]): void => mutations.forEach(({ id }) => client.dismiss(id));
  return (
    <ul className="refusals" aria-label="Refused changes" aria-live="assertive">
      {groups.slice(-SHOWN).map(({ words, reason, all }) => (
        <li key={all[0]?.id} data-refused={all[0]?.name}>
          <div>
            <strong>{`Not done: ${words}${all.length > 1 ? `, ${all.length} times` : ""}`}</strong>
            <p>{reason}</p>
          </div>
          <Dismiss label="Dismiss" onClick={() => dismiss(all)} />
        </li>
      ))}
      {hidden.length > 0 && (
        <li>
          <p>{`${hidden.length} more ${hidden.length > 1 ? "were" : "was"} not done before.`}</p>
          <Dismiss label="Dismiss those before" onClick={() => dismiss(hidden)} />
        </li>
      )}
    </ul>
  );
}

function Dismiss({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" className="tool" aria-label={label} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}

function grouped(refused: readonly RefusedMutation[], nameOf: NameOf): readonly Alike[] {
  const groups = new Map<string, Alike>();
  for (const mutation of refused) {
    const words = mutationWords(mutation.name, mutation.args, nameOf);
    const key = JSON.stringify([words, mutation.reason]);
    const group = groups.get(key) ?? { words, reason: mutation.reason, all: [] };
    group.all.push(mutation);
    groups.set(key, group);
  }
  return [...groups.values()];
}
