/** The list of rooms, and a new one. */

import { newId } from "@iolite/client";
import { useClient, useReactive } from "@iolite/react";
import { useRef } from "react";

import type { Room } from "../schema";
import { Icon } from "../styles/Icon";
import { addressOf } from "./useRoute";

export function RoomMenu({ room }: { room: Room }) {
  const menu = useRef<HTMLDivElement>(null);
  return (
    <>
      <button type="button" className="tool room-button" popoverTarget="rooms" aria-label="Rooms" title="Rooms">
        <Icon name="chevron" />
      </button>
      <div ref={menu} id="rooms" popover="auto" className="menu">
        <RoomList open={room.id} onDone={() => menu.current?.hidePopover()} />
      </div>
    </>
  );
}

function RoomList({ open, onDone }: { open: string; onDone: () => void }) {
  const { mutate } = useClient();
  const { data: rooms = [] } = useReactive((tx) => tx.rooms.range(), []);
  function create(): void {
    const id = newId().slice(0, 10);
    mutate.openRoom({ room: id, name: `Room ${rooms.length + 1}`, furnished: false });
    location.hash = addressOf(id);
    onDone();
  }
  return (
    <nav aria-label="Rooms">
      <ul>
        {rooms.map((room) => (
          <li key={room.id}>
            <a href={addressOf(room.id)} aria-current={room.id === open ? "page" : undefined} onClick={onDone}>
              <span>{room.name}</span>
              <small>{room.likes === 0 ? "" : `♥ ${room.likes}`}</small>
            </a>
          </li>
        ))}
      </ul>
      <button type="button" className="new-room" onClick={create}>
        <Icon name="plus" />
        New room
      </button>
    </nav>
  );
}
