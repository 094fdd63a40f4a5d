/**
 * What the room planner stores. The type of each column decides what two people may do at the same time:
 * - a register takes the last writer's value and never conflicts: two people may move and recolour one chair;
 * - a counter takes every increment, a set every tag;
 * - a plain value conflicts, so a mutation that read it runs again on what is true now: rules rest on these.
 */

import { defineSchema, s, table, type RowOf } from "@iolite/client";

export const schema = defineSchema({
  rooms: table({
    id: s.string(),
    name: s.register(s.string()),
    width: s.register(s.int()),
    depth: s.register(s.int()),
    budget: s.int(),
    spent: s.counter(),
    likes: s.counter(),
    tags: s.set(s.string()),
  }),
  furniture: table({
    room: s.string(),
    id: s.string(),
    kind: s.string(),
    name: s.register(s.string()),
    colour: s.register(s.string()),
    x: s.register(s.int()),
    y: s.register(s.int()),
    turn: s.register(s.int()),
    locked: s.bool().default(false),
  })
    .key("room", "id")
    // The page marks what not everybody in the room has been shown yet.
    .delivered(),
  messages: table({
    room: s.string(),
    /** Begins with the time, so that the key's order is the order of the chat. */
    id: s.string(),
    author: s.string(),
    /** Who wrote it: names change, this does not. */
    by: s.string(),
    text: s.string(),
    at: s.int(),
  }).key("room", "id"),
});

type Tables = typeof schema.tables;
export type Room = RowOf<Tables["rooms"]>;
export type Piece = RowOf<Tables["furniture"]>;
export type Message = RowOf<Tables["messages"]>;
