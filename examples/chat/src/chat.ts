/** The chat's data as hooks: all that its page knows of Iolite. `../redis/src/page/chat.tsx` is the same on Redis. */

import { newId } from "@iolite/client";
import { useClient, useLive, useMutation, useReactive } from "@iolite/react";
import { type Mark, type Me, startPage, useMarks, useMe } from "examples-page";
import { type ComponentType, useEffect, useState } from "react";

import { type Line, mutators, type Room, schema } from "./model";

export { Connection } from "./Connection";
export type { Line, Mark, Me, Room };
export { useMe };

export function start(App: ComponentType): void {
  startPage("chat", mutators, App);
}

export function useRooms(): readonly Room[] | undefined {
  return useReactive((tx) => tx.rooms.range(), []).data;
}

/** The last lines of a room, oldest first. */
export function useLines(room: string, most: number): readonly (Line & { mark: Mark })[] | undefined {
  const { data } = useLive((live) => live.logs(room).slice(-most).rows(schema.tables.lines), [room, most]);
  const markOf = useMarks((args, { name }) => (name === "say" ? (args as { line: Line }).line.id : undefined));
  return data?.flatMap((line) => (line === undefined ? [] : { ...line, mark: markOf(line.id) }));
}

export function useOpen(): (room: string, name: string) => void {
  const open = useMutation("open");
  return (room, name) => open({ room, name });
}

export function useSay(room: string, { id, name }: Me): (text: string) => void {
  const say = useMutation("say");
  return (text) => say({ room, line: { id: newId(), by: id, author: name, text } });
}

const LOOK_EVERY_MS = 20_000;

/** The names of those who look at a room, among them oneself. */
export function useHere(room: string, { id, name }: Me): readonly string[] {
  const client = useClient();
  const now = useEvery(LOOK_EVERY_MS);
  useEffect(() => {
    // What nobody could see now would be told too late.
    if (client.connection.status === "online") {
      client.mutate.look({ room, id, name });
    }
  }, [client, room, id, name, now]);
  const { data = [] } = useReactive((tx) => tx.people.range({ prefix: [room] }), [room]);
  return [name, ...data.filter((one) => one.id !== id && now - one.seen < 2 * LOOK_EVERY_MS).map((one) => one.name)];
}

/** The time, again and again. */
function useEvery(ms: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return now;
}
