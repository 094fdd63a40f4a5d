/** The talk about one room: the newest messages, and older ones on request. */

import { useReactive } from "@iolite/react";
import { useEffect, useRef, useState } from "react";

import type { Marks } from "../sync/marks";
import { Icon } from "../styles/Icon";
import { useAuthor } from "./author";
import { Composer } from "./Composer";
import { Messages } from "./Messages";
import { useStickToEnd } from "./useStickToEnd";
import { useUnread } from "./useUnread";

const PAGE = 60;

interface ChatProps {
  readonly room: string;
  readonly marks: Marks;
  /** Whether it is on the screen: on a phone it may be folded away. */
  readonly open: boolean;
  readonly onUnread: (count: number) => void;
}

export function Chat({ room, marks, open, onUnread }: ChatProps) {
  const [limit, setLimit] = useState(PAGE);
  const { data } = useReactive((tx) => tx.messages.range({ prefix: [room], reverse: true, limit }), [room, limit]);
  const messages = data ? [...data].reverse() : [];
  const [author, rename] = useAuthor();
  const list = useRef<HTMLOListElement>(null);
  const { atEnd, onScroll, toEnd } = useStickToEnd(list, messages.at(-1)?.id);
  const { count, marker } = useUnread(room, messages, author.by, open && atEnd);
  useEffect(() => onUnread(count), [count, onUnread]);
  return (
    <>
      <div className="messages-frame">
        <ol ref={list} className="messages" onScroll={onScroll} aria-label="Messages" aria-live="polite" tabIndex={0}>
          {messages.length >= limit && (
            <li className="earlier">
              <button type="button" onClick={() => setLimit(limit + PAGE)}>
                Earlier messages
              </button>
            </li>
          )}
          {messages.length === 0 && <li className="nothing-said">Nothing said yet. What should go where?</li>}
          <Messages messages={messages} marks={marks} by={author.by} marker={marker} />
        </ol>
        {!atEnd && (
          <button type="button" className="to-end" onClick={toEnd}>
            <Icon name="down" />
            {count > 0 ? `${count} new` : "To the end"}
          </button>
        )}
      </div>
      <Composer room={room} author={author} onRename={rename} onSent={toEnd} />
    </>
  );
}
