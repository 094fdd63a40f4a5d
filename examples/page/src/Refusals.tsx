/** What was refused for good, with the reason, until it is dismissed. */

import type { RefusedMutation } from "@iolite/client";
import { useClient, useRefused } from "@iolite/react";

/** Of more than these, only the latest are shown. */
const SHOWN = 3;

interface RefusalsProps {
  /** What somebody wanted, in words. */
  readonly words: (name: string, args: unknown) => string;
}

export function Refusals({ words }: RefusalsProps) {
  const client = useClient();
  const refused = useRefused();
  const dismiss = (all: readonly RefusedMutation[]): void => all.forEach(({ id }) => client.dismiss(id));
  const hidden = refused.slice(0, -SHOWN);
  return (
    <ul className="refusals" aria-label="Refused changes" aria-live="assertive">
      {hidden.length > 0 && <Refusal title={`${hidden.length} more not done`} onDismiss={() => dismiss(hidden)} />}
      {refused.slice(-SHOWN).map((each) => (
        <Refusal
          key={each.id}
          name={each.name}
          title={`Not done: ${words(each.name, each.args)}`}
          reason={each.reason}
          onDismiss={() => dismiss([each])}
        />
      ))}
    </ul>
  );
}

function Refusal(shown: { title: string; name?: string; reason?: string; onDismiss: () => void }) {
  return (
    <li data-refused={shown.name}>
      <div>
        <strong>{shown.title}</strong>
        <p>{shown.reason}</p>
      </div>
      <button type="button" aria-label="Dismiss" onClick={shown.onDismiss}>
        ×
      </button>
    </li>
  );
}
