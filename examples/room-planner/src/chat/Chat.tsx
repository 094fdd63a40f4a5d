/** The talk about one room: the newest messages, and older ones on request. */

import { useReactive } from "@iolite/react";
import { useMe } from "examples-page";
import { useEffect, useRef, useState } from "react";

import type { Marks } from "../sync/marks";
import { Icon } from "../styles/Icon";
import { Composer } from "./Composer";
import { Messages } from "./Messages";
import { PAGE, readMessages, type Shown } from "./readMessages";
import { useScrollAfterChange, useStickToEnd } from "./useStickToEnd";
import { useUnread } from "./useUnread";

interface ChatProps {
  readonly room: string;
  readonly marks: Marks;
  /** Whether it is on the screen: on a phone it may be folded away. */
  readonly open: boolean;
  readonly onUnread: (count: number) => void;
}

const NOTHING: Shown = { messages: [], hasEarlier: false };

export function Chat({ room, marks, open, onUnread }: ChatProps) {
  const list = useRef<HTMLOListElement>(null);
  const { atEnd, stick, onScroll, toEnd } = useStickToEnd(list);
  const { messages, hasEarlier, showEarlier } = useMessages(room, atEnd);
  useScrollAfterChange(list, stick, messages[0]?.id);
  const [me, rename] = useMe();
  const { count, marker } = useUnread(room, messages, me.id, open && atEnd);
  useEffect(() => onUnread(count), [count, onUnread]);
  return (
    <>
      <div className="messages-frame">
        <ol ref={list} className="messages" onScroll={onScroll} aria-label="Messages" aria-live="polite" tabIndex={0}>
          {hasEarlier && (
            <li className="earlier">
              <button type="button" onClick={showEarlier}>
                Earlier messages
              </button>
            </li>
          )}
          {messages.length === 0 && <li className="nothing-said">Nothing said yet. What should go where?</li>}
          <Messages messages={messages} marks={marks} by={me.id} marker={marker} />
        </ol>
        {!atEnd && (
          <button type="button" className="to-end" onClick={toEnd}>
            <Icon name="down" />
            {count > 0 ? `${count} new` : "To the end"}
          </button>
        )}
      </div>
      <Composer room={room} me={me} onRename={rename} onSent={toEnd} />
    </>
  );
}

function useMessages(room: string, atEnd: boolean) {
  const [shown, setShown] = useState(NOTHING);
  const [since, setSince] = useState<string | undefined>(undefined);
  const [limit, setLimit] = useState(PAGE);
  const { data } = useReactive((tx) => readMessages(tx, room, { since, limit }), [room, since, limit]);
  // While other messages are on their way, those that were there stay.
  if (data !== undefined && data !== shown) {
    setShown(data);
  }
  const current = data ?? shown;
  const oldest = current.messages[0]?.id;
  useEffect(() => {
    if (atEnd) {
      setSince(undefined);
      setLimit(PAGE);
    } else {
      setSince((kept) => kept ?? oldest);
    }
  }, [atEnd, oldest]);
  return { ...current, showEarlier: () => setLimit(limit + PAGE) };
}
