/** The page: the rooms beside the one that is open. */

import { AskButton, SecondWindow, useRoute } from "examples-page";
import { useEffect } from "react";

import { Connection, type Room, useHere, useMe, useOpen, useRooms, useSay } from "./chat";
import { Composer } from "./Composer";
import { LONGEST } from "./lengths";
import { Lines } from "./Lines";
import { useRead } from "./useRead";

const FIRST = "lobby";

export function App() {
  const open = useRoute(FIRST).slice(0, LONGEST.room);
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
        <div className="links">
          {rooms?.map((each) => <RoomLink key={each.id} room={each} open={each.id === open} unread={each.count - (read[each.id] ?? 0)} />)}
          <NewRoom />
        </div>
        <SecondWindow />
      </nav>
      {room === undefined ? <NoRoom /> : <RoomPage key={room.id} room={room} />}
    </div>
  );
}

function RoomLink({ room, open, unread }: { room: Room; open: boolean; unread: number }) {
  return (
    <a href={`#/${encodeURIComponent(room.id)}`} aria-current={open ? "page" : undefined} data-room={room.id}>
      <span>{room.name}</span>
      {!open && unread > 0 && (
        <>
          <span className="count">{unread}</span>
          <span className="unseen"> unread</span>
        </>
      )}
    </a>
  );
}

function NewRoom() {
  return (
    <AskButton
      label="New room"
      className="new-room"
      question="New room"
      answer="Open it"
      onAnswer={(form) => {
        const name = String(form.get("name")).trim().toLowerCase();
        location.hash = `#/${encodeURIComponent(name.replaceAll(/\s+/g, "-"))}`;
      }}
    >
      <label>
        Its name
        <input name="name" required pattern=".*\S.*" maxLength={LONGEST.room} autoComplete="off" />
      </label>
    </AskButton>
  );
}

/** As long as nothing of it is here: the connection says why. */
function NoRoom() {
  return (
    <main className="room">
      <header>
        <h1>Chat</h1>
        <Connection />
      </header>
    </main>
  );
}

function RoomPage({ room }: { room: Room }) {
  const [me, rename] = useMe();
  const others = useHere(room.id, me);
  const say = useSay(room.id, me);
  return (
    <main className="room">
      <header>
        <div>
          <h1>{room.name}</h1>
          <small data-here={others.length + 1}>
            Here: <strong>{me.name} (you)</strong>
            {others.map((name) => `, ${name}`)}
          </small>
        </div>
        <Connection />
      </header>
      <Lines room={room.id} count={room.count} me={me.id} />
      <Composer name={me.name} onRename={rename} onSay={say} />
    </main>
  );
}
