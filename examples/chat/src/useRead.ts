/** How many lines of each room were read on this device. What is unread is the rest of them. */

import { useState } from "react";

const KEY = "chat.read";

type Read = Readonly<Record<string, number>>;

export function useRead(): readonly [Read, (room: string, count: number) => void] {
  const [read, keep] = useState<Read>(() => JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  function setRead(room: string, count: number): void {
    const next = { ...read, [room]: count };
    localStorage.setItem(KEY, JSON.stringify(next));
    keep(next);
  }
  return [read, setRead];
}
