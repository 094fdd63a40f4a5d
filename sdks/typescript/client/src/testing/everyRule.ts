/** Rights with every kind of rule, operand, comparison and operation: `sdks/golden/rights/every-rule.json` has what they become. */

import { asId, defineLog, defineSchema, live, operation, s, table } from "../index.js";
import { defineRights, everybody, mine, nobody, open, user } from "../rights/index.js";

export const sheet = defineLog(
  "sheet",
  { cells: table({ sheet: s.id(), at: s.string(), value: s.register(s.int()) }).key("sheet", "at") },
  { setCell: operation((_tx, _args: { at: string; value: number }) => undefined) },
);

export const schema = defineSchema({
  ...sheet.tables,
  rooms: table({ id: s.id(), owner: s.string(), name: s.register(s.string()).optional(), isOpen: s.bool(), admins: s.set(s.string()) }),
  members: table({ room: s.id(), user: s.string(), role: s.string(), since: s.int() }).key("room", "user").index("mine", ["user", "role"]),
  messages: table({
    id: s.id(),
    room: s.id(),
    author: s.string(),
    rank: s.int().optional(),
    big: s.int64(),
    weight: s.float(),
    digest: s.bytes(),
    likes: s.counter(),
    tags: s.set(s.string()),
    edits: s.list(s.string()),
    votes: s.map(s.int()),
    text: s.text(),
    photo: s.blob(),
  }),
  hits: live(s.counter()),
  notices: table({ id: s.id() }),
});

const myRooms = mine(schema, "members", "room", { user: user.sub });
const myOldRooms = mine(schema, "members", "room", { user: user.sub, role: { isNot: "guest", beginsWith: "ad" }, since: { less: 1_000, atLeast: 5 } });
const KITCHEN = asId("000000000000000000000000000000aa");

export const rights = defineRights(schema, {
  tables: {
    rooms: {
      read: ({ row }) => row.id.in(myRooms).or(row.isOpen.is(true), row.admins.contains(user.sub), row.owner.in("ada", "ben")),
      create: ({ row, after }) => row.owner.is(user.sub).and(after.members(row.id, user.sub).exists({ role: "owner", since: { atLeast: 1, atMost: 9 } })),
      update: ({ new: next, old, row }) => next.owner.is(old.owner).and(row.name.isNot(null)),
      delete: nobody,
    },
    members: {
      read: ({ row }) => row.room.in(myOldRooms).and(row.role.is("guest").not()),
      create: ({ row, after }) => after.rooms(row.room).owner.is(user.sub).and(row.role.in(user.claim("roles"))),
      delete: ({ old, at }) => old.user.is(user.sub).or(at.rooms(old.room).admins.contains(user.sub)),
    },
    messages: {
      read: everybody,
      create: ({ row, at, now }) =>
        row.author
          .is(user.sub)
          .and(at.members(row.room, user.sub).exists(), row.rank.atMost(now), row.big.greater(-9_223_372_036_854_775_808n), row.digest.less(Uint8Array.of(0, 255))),
      update: ({ old, ops, at }) =>
        at
          .members(old.room, user.sub)
          .exists({ user: user.sub, role: user.claim("team") })
          .and(
            ops.only({ likes: ops.add(1, 1) }).or(
              old.author.is(user.sub).and(
                ops.only({
                  text: ops.edit,
                  photo: ops.put(),
                  rank: [ops.put({ greater: 0, less: user.claim("level") }), ops.put(null)],
                  likes: [ops.add(), ops.add({ isNot: 0 }), ops.put(0)],
                  tags: [ops.insert(user.sub), ops.remove("done")],
                  edits: [ops.append(user.claim("team")), ops.setAt({ beginsWith: "x" })],
                  votes: [ops.putEntry(1), ops.removeEntry(user.sub)],
                  author: ops.any,
                }),
              ),
            ),
          ),
      check: ({ row, old }) => row.likes.atLeast(0).and(row.weight.less(0.5), old.weight.isNot(row.weight).not(), row.room.isNot(KITCHEN)),
    },
    hits: {
      update: ({ row, ops, at }) => row.key.is(user.sub).and(at.hits("all").value.less(10), ops.only({ value: ops.add(1, 5) })),
    },
    notices: open,
  },
  logs: {
    sheet: {
      join: ({ key }) => key.in(myRooms),
      run: ({ key, operation, at, now }) => at.members(key, user.sub).exists().and(operation.in("setCell"), at.members(key, user.sub).since.less(now)),
    },
  },
  objects: {
    TodoList: {
      call: ({ className, id, method, at }) =>
        className.is("TodoList").and(id.is(user.sub), method.in("add", "tick"), at.hits(id).value.greater(at.hits("least").value)),
      read: () => user.claim("level").atLeast(3).and(user.flag("staff"), user.claim("team").in("red", "blue"), user.sub.isNot("eve")),
      hold: () => user.role("editor"),
    },
  },
});
