/** How this page stands to the server: the connection, the switch that cuts it, and what is waiting to be sent. */

import { useConnectionState, usePending } from "@iolite/react";
import { connectionWords, NetworkSwitch, SecondWindow } from "examples-page";

import { Legend } from "./Legend";
import { markOf } from "./marks";
import { markWords } from "./markWords";
import { mutationWords, type NameOf } from "./mutationWords";
import { TextMark } from "./PlanMark";

export function SyncPanel({ nameOf }: { nameOf: NameOf }) {
  const connection = useConnectionState();
  const words = connectionWords(connection);
  return (
    <section className="sync-panel" aria-label="Connection and pending changes">
      <div className="sync-head">
        <div>
          <strong data-connection={connection.status} className={`connection tone-${words.tone}`}>
            {words.title}
          </strong>
          <p>{words.detail}</p>
        </div>
        <NetworkSwitch />
      </div>
      <PendingList nameOf={nameOf} />
      <Legend storage={connection.storage} persistent={connection.persistent} />
      <SecondWindow />
    </section>
  );
}

/** More than these are counted, not listed. */
const LISTED = 6;

function PendingList({ nameOf }: { nameOf: NameOf }) {
  const pending = usePending();
  if (pending.length === 0) {
    return <p className="nothing-pending" data-pending="0">Everything is confirmed.</p>;
  }
  const hidden = pending.length - LISTED;
  return (
    <>
      <h2 className="pending-title">{`Waiting (${pending.length})`}</h2>
      <ol className="pending-list" data-pending={pending.length}>
        {pending.slice(-LISTED).map((mutation) => (
          <li key={mutation.id} data-mutation={mutation.name}>
            <TextMark mark={markOf(mutation)} />
            <span>{mutationWords(mutation.name, mutation.args, nameOf)}</span>
            <small>{mutation.status.wouldReject ?? (mutation.status.sent ? "sent" : markWords(markOf(mutation)))}</small>
          </li>
        ))}
        {hidden > 0 && <li className="more">{`and ${hidden} before these`}</li>}
      </ol>
    </>
  );
}
