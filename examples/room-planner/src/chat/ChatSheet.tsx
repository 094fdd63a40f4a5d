/** The chat in its frame: a column on wide screens, a sheet that slides up on phones. */

import { useState } from "react";

import { Icon } from "../styles/Icon";
import { useMedia } from "../styles/useMedia";
import type { Marks } from "../sync/marks";
import { Chat } from "./Chat";

export function ChatSheet({ room, marks }: { room: string; marks: Marks }) {
  const narrow = useMedia("(max-width: 860px)");
  const [unfolded, setUnfolded] = useState(false);
  const [unread, setUnread] = useState(0);
  const open = !narrow || unfolded;
  return (
    <section className={open ? "chat open" : "chat"} aria-label="Chat">
      <button type="button" className="chat-handle" aria-expanded={open} onClick={() => setUnfolded(!unfolded)}>
        <Icon name="chat" />
        Chat
        {unread > 0 && <span className="count">{unread}</span>}
        <Icon name="chevron" />
      </button>
      <div className="chat-body" inert={!open}>
        <Chat room={room} marks={marks} open={open} onUnread={setUnread} />
      </div>
    </section>
  );
}
