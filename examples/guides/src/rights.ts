/** The rights of the app for tasks. */

import { defineRights, everybody, nobody, user } from "@iolite/client/rights";

import { schema } from "./model.js";

export const rights = defineRights(schema, {
  tables: {
    projects: {
      read: everybody,
      create: () => user.role("lead"),
      update: ({ ops }) => ops.only({ spent: ops.add({ atLeast: 0 }) }).or(user.role("lead")),
      check: ({ row }) => row.spent.atMost(row.budget),
    },
    tasks: {
      read: everybody,
      create: ({ row, at }) => row.assignee.is("").and(at.projects(row.project).exists()),
      update: ({ old, ops }) =>
        ops.only({ title: ops.any, done: ops.any, labels: ops.any, notes: ops.any }).or(
          old.assignee.is("").or(old.assignee.is(user.sub)).and(ops.only({ assignee: ops.put(user.sub) })),
        ),
      delete: nobody,
    },
    likes: {
      read: everybody,
      update: ({ ops }) => ops.only({ value: ops.add(1, 1) }),
    },
  },
});
