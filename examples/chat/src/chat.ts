/** The chat's data as hooks: all that its page knows of Iolite. `../redis/src/page/chat.tsx` is the same on Redis. */

import { newId } from "@iolite/client";
import { useClient, useDifference, useLive, useMutation, useReactive } from "@iolite/react";
import { type Mark, type Me, myId, startPage, useMarks, useMe } from "examples-page";
import { type ComponentType, useEffect } from "react";

import { type Line, mutators, type Room, schema } from "./model";
import { useEvery } from "./useEvery";

export { Connection } from "./Connection";
export type { Line, Mark, Me, Room };
export { useMe };

export function start(App: ComponentType): void {
  startPage("chat", mutators, App, { as: { sub: myId() } });
}

export function useRooms(): readonly Room[] | undefined {
  return useReactive((tx) => tx.rooms.range(), []).data;
}

/** The last lines of a room, oldest first. */
export function useLines(room: string, most: number): readonly (Line & { mark: Mark; isDelivered: boolean | undefined })[] | undefined {
  const { data } = useLive((live) => live.logs(room).slice(-most).rows(schema.tables.lines), [room, most]);
  const markOf = useMarks((args, { name }) => (name === "say" ? (args as { line: Line }).line.id : undefined));
  const isDelivered = useDelivered();
  return data?.flatMap((line) => (line === undefined ? [] : { ...line, mark: markOf(line.id), isDelivered: isDelivered(line.id) }));
}

/** Whether everybody who follows a line shows it. Undefined where this is not known: in a tab that follows another one, and before the server is heard. */
function useDelivered(): (line: string) => boolean | undefined {
  const { data, isHeld } = useDifference("confirmed", "delivered", { table: "lines" });
  const undelivered = new Set(data?.map(({ key }) => key));
  return (line) => (isHeld ? !undelivered.has(line) : undefined);
}

export function useOpen(): (room: string, name: string) => void {
  const open = useMutation("open");
  return (room, name) => open({ room, name });
}

export function useSay(room: string, { id, name }: Me): (text: string) => void {
  const say = useMutation("say");
  return (text) => say({ room, line: { id: newId(), by: id, author: name, text } });
}

/** A page that shows a room says so again and again, and says when it leaves. A page that lost the network is gone after a while. */
const LOOK_EVERY_MS = 10_000;
const HERE_FOR_MS = 25_000;
const JUDGE_EVERY_MS = 5_000;

/** The names of the others who look at a room. */
export function useHere(room: string, { id, name }: Me): readonly string[] {
  const client = useClient();
  const now = useEvery(JUDGE_EVERY_MS);
  const { data = [] } = useReactive((tx) => tx.people.range({ prefix: [room] }), [room]);
  // Another tab of this device may have left the room.
  const isListed = data.some((one) => one.id === id);
  useEffect(() => {
    // What nobody could see now would be told too late.
    if (client.connection.status === "online") {
      client.mutate.look({ room, id, name });
    }
  }, [client, room, id, name, isListed, Math.floor(now / LOOK_EVERY_MS)]);
  useEffect(() => {
    const leave = (): void => {
      if (client.connection.status === "online") {
        client.mutate.leave({ room, id });
      }
    };
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, [client, room, id]);
  return data.filter((one) => one.id !== id && now - one.seen < HERE_FOR_MS).map((one) => one.name);
}
