/** How the page stands to the server, and how much waits to be sent. */

import { useConnectionState, usePending } from "@iolite/react";

import { connectionWords } from "./connectionWords";
import { StatusChip } from "./StatusChip";

export function SyncChip() {
  const connection = useConnectionState();
  return <StatusChip status={connection.status} words={connectionWords(connection)} waiting={usePending().length} />;
}
