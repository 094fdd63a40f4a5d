/** The data centre that serves this page, if its server is a group of them. A tab that follows another one does not know. */

import { useClient } from "@iolite/react";
import { useCallback, useSyncExternalStore } from "react";

export function CentreChip() {
  const client = useClient();
  const subscribe = useCallback((changed: () => void) => client.onCentre(changed), [client]);
  const centre = useSyncExternalStore(subscribe, () => client.centre);
  if (centre === undefined) {
    return undefined;
  }
  return (
    <p role="status" className="centre" data-centre={centre}>
      {centre === "moving" ? "Going to another data centre …" : `Data centre ${centre}`}
    </p>
  );
}
