/**
 * The tables of the walls, and all that can be done. All tables are causal and merge: a call takes effect on the device at once, also without a network, and no
 * two calls are ever in conflict. The types of the columns merge what several devices did to one person at the same time.
 */

import { Abort, type ClientOf, defineMutators, defineSchema, type Id, mutator, type RowOf, s, table } from "@iolite/client";

const LONGEST = 280;

export const schema = defineSchema({
  people: table({
    id: s.string(),
    name: s.register(s.string()),
    /** The later one stays, if two are written at once. */
    status: s.register(s.string()),
    /** A friend who is added and removed at once is in it. */
    friends: s.set(s.string()),
    /** People who ask to be friends. */
    requests: s.set(s.string()),
    /** Visits add up. */
    visits: s.counter(),
  }).causal(),
  /** Posts on the wall `of` a person. All columns are scalars: they are given at insert, and stay. */
  wall: table({ of: s.string(), id: s.id(), by: s.string(), text: s.string(), at: s.int() })
    .key("of", "id")
    .causal(),
  events: table({ id: s.id(), by: s.string(), title: s.string(), at: s.int(), guests: s.set(s.string()) }).causal(),
});

export type Person = RowOf<typeof schema.tables.people>;
export type Post = RowOf<typeof schema.tables.wall>;
export type Event = RowOf<typeof schema.tables.events>;

interface Two {
  readonly me: string;
  readonly other: string;
}

export const mutators = defineMutators(schema, {
  join: mutator((tx, { id, name }: { id: string; name: string }) => {
    if (!tx.people.has(id)) {
      tx.people.insert({ id, name, status: "" });
    }
  }),
  visit: mutator((tx, { id }: { id: string }) => tx.people.ref(id).visits.increment()),
  say: mutator((tx, { id, status }: { id: string; status: string }) => tx.people.update(id, { status })),
  ask: mutator((tx, { me, other }: Two) => tx.people.ref(other).requests.add(me)),
  withdraw: mutator((tx, { me, other }: Two) => tx.people.ref(other).requests.delete(me)),
  /** Both are friends of each other, or neither is: one transaction, which also answers what either has asked. */
  accept: mutator((tx, { me, other }: Two) => {
    tx.people.ref(me).requests.delete(other);
    tx.people.ref(other).requests.delete(me);
    tx.people.ref(me).friends.add(other);
    tx.people.ref(other).friends.add(me);
  }),
  decline: mutator((tx, { me, other }: Two) => tx.people.ref(me).requests.delete(other)),
  unfriend: mutator((tx, { me, other }: Two) => {
    tx.people.ref(me).friends.delete(other);
    tx.people.ref(other).friends.delete(me);
  }),
  write: mutator((tx, { of, id, by, text }: Omit<Post, "at">) => {
    if (text.length > LONGEST) {
      throw new Abort(`A post has at most ${LONGEST} characters.`);
    }
    tx.wall.insert({ of, id, by, text, at: tx.now() });
  }),
  remove: mutator((tx, { of, id }: { of: string; id: Id }) => {
    // Somebody else may have deleted it by now.
    if (tx.wall.has([of, id])) {
      tx.wall.delete([of, id]);
    }
  }),
  /** One who plans an event comes to it. */
  plan: mutator((tx, { id, by, title, at }: Omit<Event, "guests">) => tx.events.insert({ id, by, title, at, guests: [by] })),
  attend: mutator((tx, { id, me, comes }: { id: Id; me: string; comes: boolean }) => {
    if (tx.events.has(id)) {
      const { guests } = tx.events.ref(id);
      comes ? guests.add(me) : guests.delete(me);
    }
  }),
  cancel: mutator((tx, { id }: { id: Id }) => {
    if (tx.events.has(id)) {
      tx.events.delete(id);
    }
  }),
});

declare module "@iolite/react" {
  interface Register {
    client: ClientOf<typeof mutators>;
  }
}
