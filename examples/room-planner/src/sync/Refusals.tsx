/** What was refused for good, with the reason, until it is dismissed. */

import { useClient, useRefused } from "@iolite/react";

import { Icon } from "../styles/Icon";
import { mutationWords, type NameOf } from "./mutationWords";

export function Refusals({ nameOf }: { nameOf: NameOf }) {
  const client = useClient();
  const refused = useRefused();
  return (
    <ul className="refusals" aria-label="Refused changes" aria-live="assertive">
      {refused.map((mutation) => (
        <li key={mutation.id} data-refused={mutation.name}>
          <div>
            <strong>{`Not done: ${mutationWords(mutation.name, mutation.args, nameOf)}`}</strong>
            <p>{mutation.reason}</p>
          </div>
          <button type="button" className="tool" aria-label="Dismiss" onClick={() => client.dismiss(mutation.id)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
