/** Rights of a log: the members of a room draw on its board. */

import { defineLog, defineSchema, operation, s, table } from "@iolite/client";
import { defineRights, mine, open, user } from "@iolite/client/rights";

const board = defineLog(
  "board",
  { marks: table({ room: s.id(), at: s.string(), colour: s.string() }).key("room", "at") },
  {
    draw: operation((tx, { at, colour }: { at: string; colour: string }) => {
      tx.marks.put({ at, colour });
    }),
    erase: operation((tx, { at }: { at: string }) => {
      tx.marks.delete([at]);
    }),
  },
);

const schema = defineSchema({
  members: table({ room: s.id(), user: s.string() }).key("room", "user").index("byUser", ["user"]),
  ...board.tables,
});

const myRooms = mine(schema, "members", "room", { user: user.sub });

export const rights = defineRights(schema, {
  tables: { members: open },
  logs: {
    board: {
      join: ({ key }) => key.in(myRooms),
      run: ({ key, operation, at }) => at.members(key, user.sub).exists().and(operation.in("draw", "erase")),
    },
  },
});
