/** How the page stands to the server, and what it refused. */

import { Refusals, SyncChip } from "examples-page";

export function Connection() {
  return (
    <>
      <Refusals words={() => "send what you wrote"} />
      <SyncChip />
    </>
  );
}
