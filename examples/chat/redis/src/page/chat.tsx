/** The chat's data as hooks, from the server over Redis: for the page it is what `../../../src/chat.ts` is. */

import { type Mark, type Me, StatusChip, Switch, useMe } from "examples-page";
import { type ComponentType, useEffect, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";

import { useEvery } from "../../../src/useEvery.js";
import type { Line, Room } from "../messages.js";
import { connect, current, pause, say, send, subscribe, watch } from "./link.js";

export type { Line, Mark, Me, Room };
export { useMe };

export function start(App: ComponentType): void {
  connect();
  createRoot(document.getElementById("root") as HTMLElement).render(<App />);
}

function useChat() {
  return useSyncExternalStore(subscribe, current);
}

export function useRooms(): readonly Room[] | undefined {
  return useChat().rooms;
}

export function useLines(room: string, most: number): readonly (Line & { mark: Mark })[] | undefined {
  const { lines, waiting } = useChat();
  useEffect(() => watch(room, most), [room, most]);
  const said = (lines[room] ?? []).slice(-most);
  const ids = new Set(said.map(({ id }) => id));
  const own = waiting.filter((one) => one.room === room && !ids.has(one.line.id));
  return [...said.map((line) => ({ ...line, mark: "sent" as const })), ...own.map(({ line }) => ({ ...line, mark: "kept" as const }))];
}

export function useOpen(): (room: string, name: string) => void {
  return (room, name) => send({ type: "open", room, name });
}

export function useSay(room: string, { id, name }: Me): (text: string) => void {
  return (text) => say(room, { id: crypto.randomUUID(), by: id, author: name, text, at: Date.now() });
}

const LOOK_EVERY_MS = 10_000;

/** The names of the others in a room. The server knows whose connection has ended, so it tells who has left. */
export function useHere(room: string, { id, name }: Me): readonly string[] {
  const { online, people } = useChat();
  const now = useEvery(LOOK_EVERY_MS);
  useEffect(() => send({ type: "look", room, id, name }), [room, id, name, now, online]);
  return (people[room] ?? []).filter((one) => one.id !== id).map((one) => one.name);
}

export function Connection() {
  const { online, paused, waiting } = useChat();
  const words = online
    ? ({ title: "Live", detail: "Changes go out, and come in, at once.", tone: "good" } as const)
    : ({ title: "Offline", detail: "Go on working: it will be sent later.", tone: "off" } as const);
  return (
    <div className="corner">
      <StatusChip status={online ? "online" : "offline"} words={words} waiting={waiting.length} />
      <Switch label="Cut my network" isOn={paused} onTurn={pause} />
    </div>
  );
}
