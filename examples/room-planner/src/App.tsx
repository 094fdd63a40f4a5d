/** Opens the room of the address, and says so while there is nothing to show yet. */

import { useConnectionState, useMutation, useReactive } from "@iolite/react";
import { Notice } from "examples-page";
import { useEffect } from "react";

import { RoomPage } from "./rooms/RoomPage";
import { FIRST_ROOM, useRoute } from "./rooms/useRoute";

export function App() {
  const id = useRoute();
  const { data, isUnavailable, error } = useReactive(
    (tx) => ({ id, room: tx.rooms.get(id), pieces: tx.furniture.range({ prefix: [id] }) }),
    [id],
  );
  const { role } = useConnectionState();
  const isShown = data?.id === id && data.room !== undefined;
  useOpenRoom(id, data?.id === id && data.room === undefined);
  useEffect(() => {
    if (isShown) {
      document.body.dataset["ready"] = "true";
    }
  }, [isShown]);
  if (data?.room !== undefined && isShown) {
    return <RoomPage key={id} room={data.room} pieces={data.pieces} />;
  }
  if (error !== undefined) {
    return <Notice title="This room cannot be shown" text={error.message} />;
  }
  return isUnavailable || role === "waiting" ? <NotHere /> : <Notice title="Opening the room" text="One moment." />;
}

/** An address that nobody has opened yet becomes a room; the very first one has furniture. */
function useOpenRoom(id: string, isMissing: boolean): void {
  const open = useMutation("openRoom");
  useEffect(() => {
    if (isMissing) {
      const first = id === FIRST_ROOM;
      open({ room: id, name: first ? "Living room" : "New room", furnished: first });
    }
  }, [id, isMissing, open]);
}

function NotHere() {
  const { role, message } = useConnectionState();
  if (role === "waiting") {
    return <Notice title="Another version is open" text={message ?? "Reload this tab, or close the other one."} />;
  }
  const text = "It is not on this device yet, and the server cannot be reached. It opens by itself once it can be.";
  return <Notice title="Waiting for the server" text={message ?? text} />;
}
