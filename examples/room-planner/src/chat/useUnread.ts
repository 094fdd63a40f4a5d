/**
 * What was not read yet. A message counts as read once the end of the chat is on the screen of a page that has the focus. The
 * marker stays where reading stopped until one writes, or looks away and comes back.
 */

import { useEffect, useState } from "react";

import type { Message } from "../schema";

export interface Unread {
  readonly count: number;
  /** The first message that was new when one came back to the chat. */
  readonly marker: string | undefined;
}

export function useUnread(room: string, messages: readonly Message[], by: string, atEnd: boolean): Unread {
  const key = `room-planner.read.${room}`;
  const [read, setRead] = useState(() => localStorage.getItem(key) ?? "");
  const [marker, setMarker] = useState<string | undefined>(undefined);
  const focused = useFocused();
  const newest = messages.at(-1);
  const unread = messages.filter((message) => message.id > read && message.by !== by);
  const first = unread[0]?.id;
  const reading = focused && atEnd;
  const wroteLast = newest?.by === by;

  useEffect(() => {
    if (first !== undefined && !reading) {
      setMarker((old) => old ?? first);
    }
  }, [first, reading]);
  useEffect(() => {
    if (wroteLast) {
      setMarker(undefined);
    }
  }, [wroteLast, newest?.id]);
  useEffect(() => {
    if (!focused && first === undefined) {
      setMarker(undefined);
    }
  }, [focused, first]);
  useEffect(() => {
    if (reading && newest !== undefined && newest.id > read) {
      localStorage.setItem(key, newest.id);
      setRead(newest.id);
    }
  }, [reading, newest, read, key]);
  return { count: unread.length, marker };
}

function useFocused(): boolean {
  const [focused, setFocused] = useState(() => document.hasFocus());
  useEffect(() => {
    const look = (): void => setFocused(document.hasFocus() && document.visibilityState === "visible");
    const events = ["focus", "blur"] as const;
    events.forEach((event) => addEventListener(event, look));
    document.addEventListener("visibilitychange", look);
    return () => {
      events.forEach((event) => removeEventListener(event, look));
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return focused;
}
