/** How the page stands to the server, with how much waits to be sent; a switch that cuts the network, to see what happens then. */

import { useClient, useConnectionState, usePending } from "@iolite/react";

import { connectionWords } from "./connectionWords";

export function SyncChip() {
  const client = useClient();
  const connection = useConnectionState();
  const waiting = usePending().length;
  const { title, detail, tone } = connectionWords(connection);
  const turn = (): void => (connection.paused ? client.goOnline() : client.goOffline());
  return (
    <button
      type="button"
      role="switch"
      aria-label="Connection"
      aria-checked={!connection.paused}
      className="sync-chip"
      title={`${detail} A click cuts the network, and mends it.`}
      data-connection={connection.status}
      data-pending={waiting}
      onClick={turn}
    >
      <span className={`connection tone-${tone}`}>{title}</span>
      {waiting > 0 && <span className="count">{waiting}</span>}
    </button>
  );
}
