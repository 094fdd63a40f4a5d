/** The switch that cuts all tabs of this page from the server, to see what happens then. It stands apart from the status that it changes. */

import { useClient, useConnectionState } from "@iolite/react";

import { Switch } from "./Switch";

export function NetworkSwitch() {
  const client = useClient();
  const { paused } = useConnectionState();
  return <Switch label="Cut my network" isOn={paused} onTurn={(cut) => (cut ? client.goOffline() : client.goOnline())} />;
}
