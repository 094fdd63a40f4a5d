/** How the page stands to the server, the switch that cuts it, and what was refused. */

import { NetworkSwitch, Refusals, SyncChip } from "examples-page";

export function Connection() {
  return (
    <div className="corner">
      <Refusals words={words} />
      <SyncChip />
      <NetworkSwitch />
    </div>
  );
}

function words(name: string): string {
  return name === "open" ? "open the room" : "send what you wrote";
}
