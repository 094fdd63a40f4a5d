/** The page: the rooms beside the one that is open. */

import { useRoute } from "examples-page";
import { useEffect } from "react";

import { Connection, type Room, useHere, useMe, useOpen, useRooms, useSay } from "./chat";
import { Composer } from "./Composer";
import { Lines } from "./Lines";
import { useRead } from "./useRead";

const FIRST = "lobby";

export function App() {
  const open = useRoute(FIRST);
  const rooms = useRooms();
  const [read, setRead] = useRead();
  const room = rooms?.find(({ id }) => id === open);
  const add = useOpen();
  useEffect(() => {
    if (rooms !== undefined && room === undefined) {
      add(open, open.replaceAll("-", " "));
    }
  }, [rooms === undefined, room === undefined, open]);
  useEffect(() => {
    const look = (): void => {
      if (room !== undefined && document.hasFocus()) {
        setRead(room.id, room.count);
      }
    };
    look();
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [room?.id, room?.count]);
  return (
    <div className="page">
      <nav className="rooms" aria-label="Rooms">
        {rooms?.map((each) => <RoomLink key={each.id} room={each} open={each.id === open} unread={each.count - (read[each.id] ?? 0)} />)}
        <NewRoom />
      </nav>
      {room === undefined ? <main className="room" /> : <RoomPage key={room.id} room={room} />}
    </div>
  );
}

function RoomLink({ room, open, unread }: { room: Room; open: boolean; unread: number }) {
  return (
    <a href={`#/${encodeURIComponent(room.id)}`} aria-current={open} data-room={room.id}>
      <span>{room.name}</span>
      {!open && unread > 0 && <span className="count">{unread}</span>}
    </a>
  );
}

function NewRoom() {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const name = String(new FormData(event.currentTarget).get("name")).trim().toLowerCase();
        event.currentTarget.reset();
        if (name !== "") {
          location.hash = `#/${encodeURIComponent(name.replaceAll(/\s+/g, "-"))}`;
        }
      }}
    >
      <input name="name" aria-label="New room" placeholder="New room" maxLength={40} autoComplete="off" />
    </form>
  );
}

function RoomPage({ room }: { room: Room }) {
  const [me, rename] = useMe();
  const here = useHere(room.id, me);
  const say = useSay(room.id, me);
  return (
    <main className="room">
      <header>
        <div>
          <h1>{room.name}</h1>
          <small data-here={here.length}>{here.length === 1 ? "Only you are here" : `Here: ${here.join(", ")}`}</small>
        </div>
        <Connection />
      </header>
      <Lines room={room.id} count={room.count} me={me.id} />
      <Composer name={me.name} onRename={rename} onSay={say} />
    </main>
  );
}
