/** Rights of a class of objects: the members of a list call it, and editors hold it on their devices. */

import { defineSchema, s, table } from "@iolite/client";
import { defineRights, open, user } from "@iolite/client/rights";

const schema = defineSchema({ members: table({ list: s.string(), user: s.string() }).key("list", "user") });

export const rights = defineRights(schema, {
  tables: { members: open },
  objects: {
    TodoList: {
      call: ({ id, at }) => at.members(id, user.sub).exists(),
      hold: () => user.role("editor"),
    },
  },
});
