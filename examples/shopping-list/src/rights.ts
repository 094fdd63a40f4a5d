import { defineRights, everybody, user } from "@iolite/client/rights";

import { schema } from "./model.ts";

export const rights = defineRights(schema, {
  tables: {
    items: {
      read: everybody,
      create: ({ row }) => row.takerId.is(""),
      update: ({ old, row, ops }) =>
        ops.only({ what: ops.any, bought: ops.any }).or(
          old.takerId.is("").and(row.takerId.is(user.sub), ops.only({ taker: ops.any, takerId: ops.any })),
        ),
    },
  },
});
