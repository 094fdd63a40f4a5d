/**
 * What the chat stores, and all that can be done. A room's log is a list in commit order: people append at the same time and never conflict, and
 * everybody sees one order. How many lines a room has is a counter beside it, so that whoever wants to know only that need not read the log.
 */

import { Abort, type ClientOf, defineMutators, defineSchema, live, mutator, type RowOf, s, table } from "@iolite/client";

import { LONGEST } from "./lengths.ts";

export const schema = defineSchema({
  rooms: table({ id: s.string(), name: s.register(s.string()), count: s.counter() }),
  logs: live(s.list(s.string(), { order: "commit" }), { delivered: true }),
  /** `by`: the user who says it, as the token names them. `author`: the name that they gave themselves. */
  lines: table({ id: s.string(), by: s.string(), author: s.string(), text: s.string(), at: s.int() }).delivered(),
  /** `id`: the user. */
  people: table({ room: s.string(), id: s.string(), name: s.register(s.string()), seen: s.register(s.int()) }).key("room", "id"),
});

export type Room = RowOf<typeof schema.tables.rooms>;
export type Line = RowOf<typeof schema.tables.lines>;

export const mutators = defineMutators(schema, {
  /** Two people who open one room at once make one. */
  open: mutator((tx, { room, name }: { room: string; name: string }) => {
    mustFit("The room's name", name, LONGEST.room);
    if (!tx.rooms.has(room)) {
      tx.rooms.insert({ id: room, name });
    }
  }),
  say: mutator((tx, { room, line }: { room: string; line: Omit<Line, "at"> }) => {
    mustFit("Your name", line.author, LONGEST.name);
    mustFit("The message", line.text, LONGEST.text);
    tx.lines.insert({ ...line, at: tx.now() });
    tx.logs.ref(room).push(line.id);
    tx.rooms.ref(room).count.increment();
  }),
  /** Says that somebody looks at a room now. */
  look: mutator((tx, { room, id, name }: { room: string; id: string; name: string }) => {
    mustFit("Your name", name, LONGEST.name);
    if (tx.people.has([room, id])) {
      tx.people.update([room, id], { name, seen: tx.now() });
    } else {
      tx.people.insert({ room, id, name, seen: tx.now() });
    }
  }),
  /** Says that somebody does not look at it any more. */
  leave: mutator((tx, { room, id }: { room: string; id: string }) => {
    if (tx.people.has([room, id])) {
      tx.people.delete([room, id]);
    }
  }),
});

function mustFit(what: string, text: string, longest: number): void {
  if (text.length > longest) {
    throw new Abort(`${what} is too long: it may have ${longest} characters.`);
  }
}

declare module "@iolite/react" {
  interface Register {
    client: ClientOf<typeof mutators>;
  }
}
