/** Rights of a chat, tried as the tests of an app try them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { blobOf, defineLog, defineSchema, type Id, live, operation, s, table } from "../index.js";
import { defineRights, everybody, mine, nobody, open, RightsTestError, rightsTest, user } from "./index.js";

const board = defineLog("board", { marks: table({ room: s.string(), at: s.string() }).key("room", "at") }, { draw: operation(() => {}), erase: operation(() => {}) });
const schema = defineSchema({
  rooms: table({ id: s.string(), owner: s.string() }),
  members: table({ room: s.string(), user: s.string() }).key("room", "user").index("byUser", ["user"]),
  messages: table({
    id: s.id(),
    room: s.string(),
    author: s.string(),
    text: s.register(s.string()).default(""),
    big: s.int64().default(0n),
    weight: s.float().default(0),
    likes: s.counter(),
    tags: s.set(s.string()),
    edits: s.list(s.int()),
    votes: s.map(s.int()),
    body: s.text(),
    digest: s.bytes().optional(),
    photo: s.blob().optional(),
  }),
  hits: live(s.counter()),
  drafts: table({ id: s.string(), owner: s.string(), ends: s.int().default(0) }).eventual(),
  walls: table({ id: s.string() }).causal(),
  ...board.tables,
});

const myRooms = mine(schema, "members", "room", { user: user.sub });

const rights = defineRights(schema, {
  tables: {
    rooms: { read: ({ row }) => row.id.in(myRooms), create: ({ row, after }) => row.owner.is(user.sub).and(after.members(row.id, user.sub).exists()) },
    members: { read: ({ row }) => row.room.in(myRooms), create: ({ row, after }) => after.rooms(row.room).owner.is(user.sub), delete: () => user.role("lead") },
    messages: {
      read: ({ row }) => row.room.in(myRooms),
      create: ({ row, at }) => row.author.is(user.sub).and(at.members(row.room, user.sub).exists()),
      update: ({ old, ops }) =>
        ops
          .only({ likes: ops.add(1, 1) })
          .or(old.author.is(user.sub).and(ops.only({ text: ops.any, tags: ops.any, edits: ops.any, votes: ops.any, body: ops.edit, big: ops.any, weight: ops.any, digest: ops.any, photo: ops.any }))),
    },
    hits: { read: everybody, update: ({ ops }) => ops.only({ value: ops.add(1, 5) }) },
    drafts: { read: nobody, create: nobody, update: ({ old, now }) => old.owner.is(user.sub).and(now.less(old.ends)) },
    walls: open,
  },
  logs: { board: { join: ({ key }) => key.in(myRooms), run: ({ key, operation: own, at }) => at.members(key, user.sub).exists().and(own.in("draw")) } },
  objects: { List: { call: ({ id, method, at }) => at.members(id, user.sub).exists().and(method.in("add")), hold: () => user.role("lead") } },
});

const ID = "000000000000000000000000000000aa" as Id;
const OTHER = "000000000000000000000000000000bb" as Id;
const kitchen = { id: "kitchen", owner: "ann" };
const ann = { room: "kitchen", user: "ann" };
const hello = { id: ID, room: "kitchen", author: "ann", tags: ["a"], votes: { yes: 1 }, body: "It begins", photo: blobOf(Uint8Array.of(1)) };
const start = rightsTest(rights).given({ rooms: [kitchen], members: [ann], messages: [hello] });

function failure(ask: () => unknown): RightsTestError {
  try {
    ask();
  } catch (error) {
    assert.ok(error instanceof RightsTestError, String(error));
    return error;
  }
  assert.fail("it is no error");
}

test("a user may what a rule allows, and nothing else", () => {
  const message = (author: string) => ({ id: OTHER, room: "kitchen", author });
  start.as({ sub: "ann" }).may("create", "messages", message("ann")).mayNot("create", "messages", message("bob"));
  start.as({ sub: "bob" }).mayNot("create", "messages", message("bob")).may("update", "messages", ID, { likes: { add: 1 } });
  start.as({ sub: "bob" }).mayNot("update", "messages", ID, { likes: [{ add: 1 }, { add: 1 }] }).mayNot("update", "messages", ID, { text: "mine" });
  start.as({ sub: "bob", roles: ["lead"] }).may("delete", "members", ["kitchen", "ann"]);
  start.as({ sub: "bob", roles: ["guest"] }).mayNot("delete", "members", ["kitchen", "ann"]);
  start.as({ sub: "bob" }).may("update", "hits", "page", { value: { add: 5 } }).mayNot("update", "hits", "page", { value: 5 });
});

test("several writes are one mutation, whose rows vouch for each other", () => {
  const garden = ["create", "rooms", { id: "garden", owner: "bob" }] as const;
  const bob = ["create", "members", { room: "garden", user: "bob" }] as const;
  start.as({ sub: "bob" }).may([garden, bob]).mayNot([garden]).mayNot([bob]);
  start.as({ sub: "eve" }).mayNot([garden, bob]);
});

test("a user sees what the read rule allows, as it was given", () => {
  const more = start.given({ rooms: [{ id: "attic", owner: "bob" }], hits: [{ key: "x", value: 3 }] });
  assert.deepEqual(more.as({ sub: "ann" }).sees("rooms"), [kitchen]);
  assert.equal(more.as({ sub: "ann" }).sees("messages")[0], hello);
  assert.deepEqual(more.as({ sub: "bob" }).sees("rooms"), []);
  assert.deepEqual(more.as({ sub: "bob" }).sees("hits"), [{ key: "x", value: 3 }]);
  assert.deepEqual(start.as({ sub: "bob" }).sees("hits"), [], "a test shares nothing with one that it was made of");
  assert.deepEqual(start.as({ sub: "bob" }).given({ members: [{ room: "kitchen", user: "bob" }] }).sees("rooms"), [kitchen]);
});

test("columns of every type are given and changed", () => {
  const changes = { big: 9_007_199_254_740_993n, weight: 0.1, digest: Uint8Array.of(1, 255), text: "new", photo: null };
  const operations = {
    tags: [{ insert: "b" }, { remove: "a" }],
    edits: [{ append: 1 }, { setAt: [0, 2] }],
    votes: [{ putEntry: ["no", 1] }, { removeEntry: "yes" }],
    body: { edit: "more" },
  } as const;
  start.as({ sub: "ann" }).may("update", "messages", ID, changes).may("update", "messages", ID, operations);
  start.as({ sub: "bob" }).mayNot("update", "messages", ID, changes).mayNot("update", "messages", ID, operations);
  const given = { id: OTHER, room: "kitchen", author: "ann", big: 1n, likes: 2, tags: new Set(["a"]), edits: [1, 2], votes: new Map([["yes", 1]]), digest: null };
  assert.equal(start.given({ messages: [given] }).as({ sub: "ann" }).sees("messages").length, 2);
  const leftOut = { ...given, likes: undefined } as unknown as typeof given;
  assert.equal(start.given({ messages: [leftOut] }).as({ sub: "ann" }).sees("messages").length, 2, "a column that is undefined is left out");
});

test("rules that look at the time are asked at one", () => {
  const drafts = start.given({ drafts: [{ id: "d", owner: "ann", ends: 10 }] });
  drafts.as({ sub: "ann" }).may("update", "drafts", "d", { ends: 20 });
  drafts.as({ sub: "ann" }, { now: 10 }).mayNot("update", "drafts", "d", { ends: 20 });
});

test("a test that fails shows the rule as a tree", () => {
  const denied = failure(() => start.as({ sub: "bob" }).may("create", "messages", { id: OTHER, room: "kitchen", author: "bob" }));
  assert.equal(denied.code, "denied");
  assert.equal(
    denied.message,
    `bob may not do this: denied: table "messages": the rule "create" does not let this user
rule "create" of table "messages": it does not hold
  no  (row.author = user.sub and at.members(row.room, user.sub) exists)
    yes row.author = user.sub
          row.author is "bob"
          user.sub is "bob"
    no  at.members(row.room, user.sub) exists
          row.room is "kitchen"
          user.sub is "bob"
          looked at members["kitchen", "bob"]: whether it is there
`,
  );
  const allowed = failure(() => start.as({ sub: "bob" }).mayNot("update", "messages", ID, { likes: { add: 1 } }));
  assert.equal(allowed.code, "allowed");
  assert.match(allowed.message, /^bob may do this, and should not: allowed\nrule "update"/);
});

test("a log is tried by its rules", () => {
  start.as({ sub: "ann" }).may("join", "board", "kitchen").may("run", "board", "kitchen", "draw").mayNot("run", "board", "kitchen", "erase");
  const bob = start.as({ sub: "bob" }).mayNot("join", "board", "kitchen");
  assert.match(failure(() => bob.may("run", "board", "kitchen", "draw")).message, /rule "run" of log "board": it does not hold/);
});

test("an object is tried by the rules of its class", () => {
  start.as({ sub: "ann" }).may("call", "List", "kitchen", "add").mayNot("call", "List", "kitchen", "clear").mayNot("hold", "List", "kitchen").mayNot("copy", "List", "kitchen");
  start.as({ sub: "ann", roles: ["lead"] }).may("hold", "List", "kitchen");
  const bob = start.as({ sub: "bob" }).mayNot("call", "Other", "kitchen", "add");
  assert.match(failure(() => bob.may("call", "List", "kitchen", "add")).message, /rule "call" of class "List": it does not hold/);
});

test("a mistake of a test is a sentence that says what to write", () => {
  const any = start as any;
  const bob = any.as({ sub: "bob" });
  const cases: readonly [ask: () => unknown, wanted: string][] = [
    [() => rightsTest({} as never), "rightsTest takes the rights that defineRights returned"],
    [() => any.as({ name: "bob" }), 'say who asks: .as({ sub: "ann" })'],
    [() => any.as({ sub: "bob", level: 1.5 }).sees("rooms"), 'claim "level": it is a text, a whole number'],
    [() => any.given({ room: [kitchen] }), 'the schema has no table "room": there are rooms, members'],
    [() => any.given({ rooms: [{ id: "x" }] }), 'table "rooms", column "owner": it is required, so give it a value'],
    [() => any.given({ rooms: [{ ...kitchen, name: "x" }] }), 'table "rooms" has no column "name": there are id, owner'],
    [() => any.given({ rooms: ["kitchen"] }), 'table "rooms": give an object of columns and values, not "kitchen"'],
    [() => any.given({ messages: [{ ...hello, id: "x" }] }), 'table "messages", column "id": "x" is no value of type id'],
    [() => any.given({ messages: [{ ...hello, tags: 1 }] }), "a set begins with its elements in an array, not 1"],
    [() => any.given({ walls: [{ id: "w" }] }), 'table "walls" merges, and rules of such tables are not tried yet'],
    [() => bob.may("read", "rooms", "kitchen"), 'there is no "read" to try: write "create", "update" or "delete"'],
    [() => bob.may("join", "bord", "kitchen"), 'the schema has no log "bord": there are board'],
    [() => bob.may("run", "board", "kitchen"), "say which log"],
    [() => bob.may("delete", "members", "kitchen"), 'the key of table "members" has 2 columns (room, user)'],
    [() => bob.may("update", "messages", ID, {}), "no column changes"],
    [() => bob.may("update", "messages", ID, { id: OTHER }), "it is of the key, which no update changes"],
    [() => bob.may("update", "messages", ID, { tags: ["b"] }), "a set is changed by an operation: add, insert"],
    [() => bob.may("update", "messages", ID, { likes: { insert: "x" } }), 'nothing does "insert" to a counter'],
    [() => bob.may("create", "hits", { key: "x", value: "3" }), 'column "value": "3" is no value of type int'],
    [() => bob.may([]), "nothing is written"],
    [() => bob.sees("room"), 'the schema has no table "room"'],
  ];
  for (const [ask, wanted] of cases) {
    const { code, message } = failure(ask);
    assert.ok(code === "mistake" && message.includes(wanted), `${wanted}: ${message}`);
  }
});

/** Mistakes that the compiler refuses. */
export function typed(): void {
  const one = start.as({ sub: "ann" });
  // @ts-expect-error there is no such table
  start.given({ room: [kitchen] });
  // @ts-expect-error a room has an owner
  start.given({ rooms: [{ id: "x" }] });
  // @ts-expect-error a user is needed
  start.may("create", "rooms", kitchen);
  // @ts-expect-error a name is needed
  start.as({ roles: ["lead"] });
  // @ts-expect-error there is no such table
  one.may("create", "room", kitchen);
  // @ts-expect-error a room has an owner
  one.may("create", "rooms", { id: "x" });
  // @ts-expect-error the key has two columns
  one.may("delete", "members", "kitchen");
  // @ts-expect-error a message has an id
  one.may("delete", "messages", "kitchen");
  // @ts-expect-error a counter is added to
  one.may("update", "messages", ID, { likes: { insert: 1 } });
  // @ts-expect-error the key stays
  one.may("update", "messages", ID, { id: OTHER });
  // @ts-expect-error a set has operations
  one.may("update", "messages", ID, { tags: "a" });
  // @ts-expect-error the key of a room is a text
  one.mayNot([["delete", "rooms", 3]]);
  // @ts-expect-error a number is no text
  one.sees("rooms")[0]?.owner satisfies number | undefined;
}
