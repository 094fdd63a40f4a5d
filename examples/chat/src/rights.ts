/**
 * The chat's rights, for `iolite dev --rights`. Rooms are open to everybody who has signed in, and nobody speaks as somebody else. A line's `by` and a
 * person's `id` are the user. Names that people give themselves are free, as in any chat: two may be called Ada, and a page tells them apart by `by`.
 */

import { defineRights, everybody, user } from "@iolite/client/rights";

import { schema } from "./model.ts";

export const rights = defineRights(schema, {
  tables: {
    rooms: {
      read: everybody,
      create: ({ row }) => row.count.is(0),
      // A name stays. Whoever says a line counts it.
      update: ({ ops }) => ops.only({ count: ops.add(1, 1) }),
    },
    logs: {
      read: everybody,
      // Only of rooms that are there, and only by appending: what stands there stays.
      update: ({ row, ops, at }) => at.rooms(row.key).exists().and(ops.only({ value: ops.append() })),
    },
    lines: {
      read: everybody,
      // There is no rule for updates and deletes: what was said stays as it was.
      create: ({ row }) => row.by.is(user.sub),
    },
    people: {
      read: everybody,
      create: ({ row }) => row.id.is(user.sub),
      update: ({ old }) => old.id.is(user.sub),
      delete: ({ old }) => old.id.is(user.sub),
    },
  },
});
