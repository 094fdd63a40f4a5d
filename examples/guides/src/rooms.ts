/** Rooms with members, and their rights. */

import { defineSchema, s, table } from "@iolite/client";
import { defineRights, mine, user } from "@iolite/client/rights";

export const schema = defineSchema({
  rooms: table({ id: s.id(), owner: s.string(), name: s.register(s.string()) }),
  members: table({ room: s.id(), user: s.string() }).key("room", "user").index("byUser", ["user"]),
  messages: table({ id: s.id(), room: s.id(), author: s.string(), text: s.text(), likes: s.counter() }),
});

const myRooms = mine(schema, "members", "room", { user: user.sub });

export const rights = defineRights(schema, {
  tables: {
    rooms: {
      read: ({ row }) => row.id.in(myRooms),
      create: ({ row, after }) => row.owner.is(user.sub).and(after.members(row.id, user.sub).exists()),
    },
    members: {
      read: ({ row }) => row.room.in(myRooms),
      create: ({ row, after }) => after.rooms(row.room).owner.is(user.sub),
      delete: ({ old, at }) => old.user.is(user.sub).or(at.rooms(old.room).owner.is(user.sub)),
    },
    messages: {
      read: ({ row }) => row.room.in(myRooms),
      create: ({ row, at }) => row.author.is(user.sub).and(at.members(row.room, user.sub).exists(), row.likes.is(0)),
      update: ({ old, ops, at }) =>
        at
          .members(old.room, user.sub)
          .exists()
          .and(ops.only({ likes: ops.add(1, 1) }).or(old.author.is(user.sub).and(ops.only({ text: ops.any })))),
    },
  },
});
