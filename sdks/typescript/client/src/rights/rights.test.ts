/** Rights become the data that servers read, and clumsy use is an error with table and rule. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { defineSchema, type Id, live, s, SchemaError, table } from "../index.js";
import { rights as everyRule, schema as everySchema } from "../testing/everyRule.js";
import { defineRights, everybody, mine, nobody, open, type Rule, type Rules, user } from "./index.js";

const schema = defineSchema({
  rooms: table({ id: s.id(), owner: s.string(), size: s.float(), body: s.text() }),
  members: table({ room: s.id(), user: s.string(), exists: s.bool() }).key("room", "user"),
});

type OwnRules = Rules<(typeof schema)["tables"]>;
type RoomRules = Exclude<NonNullable<NonNullable<OwnRules["tables"]>["rooms"]>, string>;

function ofRooms(rooms: RoomRules): Record<string, Record<string, unknown>> {
  const { rights } = defineRights(schema, { tables: { rooms, members: open } }).toJSON() as { rights: { tables: { rooms: Record<string, Record<string, unknown>> } } };
  return rights.tables.rooms;
}

function problemsOf(rules: unknown): string {
  let said = "";
  assert.throws(
    () => defineRights(schema, rules as OwnRules),
    (error: unknown) => error instanceof SchemaError && (said = error.message) !== "",
  );
  return said;
}

test("every kind of rule becomes what servers read", async () => {
  const golden = await readFile(new URL("../../../../golden/rights/every-rule.json", import.meta.url), "utf8");
  assert.equal(`${JSON.stringify(everyRule)}\n`, golden);
  assert.deepEqual(everyRule.toJSON().schema, JSON.parse(everySchema.json));
});

test("rules are joined flat, and a rule that stands alone needs no function", () => {
  const a = user.role("a");
  const of = { test: { is: { equal: { claim: "sub" } }, of: { row: "owner" } } };
  const claim = { claim: { is: { contains: { string: "a" } }, name: "roles" } };
  assert.deepEqual(ofRooms({ read: everybody, delete: nobody, create: ({ row }) => row.owner.is(user.sub).and(a).and(a, a.not()) }), {
    create: { and: [of, claim, claim, { not: claim }] },
    delete: { or: [] },
    read: { and: [] },
  });
});

test("a column that is called like a method is there by its name", () => {
  const { create } = ofRooms({ create: ({ row, at }) => at.members(row.id, user.sub).column("exists").is(true) });
  const key = [{ row: "id" }, { claim: "sub" }];
  assert.deepEqual(create, { test: { is: { equal: { bool: true } }, of: { at: { key, table: "members" }, column: "exists" } } });
});

test("constants are written exactly", () => {
  const sizes = [1, -0.25, 1e15, 0.1 + 0.2, 1e300, -Infinity];
  const { check } = ofRooms({ check: ({ row }) => row.size.in(...sizes) }) as { check: { in: { set: { values: { float: unknown }[] } } } };
  assert.deepEqual(check.in.set.values.map(({ float }) => float), [1, -0.25, 1e15, "0.30000000000000004", "1e+300", "-Infinity"]);
});

test("every problem is told at once, with table and rule", () => {
  const said = problemsOf({
    tables: {
      rooms: {
        read: () => undefined,
        write: everybody,
        create: ({ row }: any) => row.autor.is(user.sub),
        update: ({ row }: any) => row.owner.is((user as any).team),
        delete: async () => everybody,
        check: ({ row }: any) => row.body.is("x"),
      },
      rom: open,
    },
    logs: { sheet: open },
    object: {},
  });
  assert.deepEqual(said.split("\n"), [
    'table "members": it has no rights: write open if everybody may do everything',
    'table "rooms", rule "read": its function returned undefined: return a rule, such as row.owner.is(user.sub), and join rules by .and(), .or() and .not()',
    'table "rooms": there is no rule "write": there are read, create, update, delete, check',
    'table "rooms", rule "create": table "rooms" has no column "autor": there are id, owner, size, body',
    'table "rooms", rule "update": there is no user.team: write user.claim("team")',
    'table "rooms", rule "delete": its function returned a promise: return a rule, such as row.owner.is(user.sub), and join rules by .and(), .or() and .not()',
    'table "rooms", rule "check": column "body" of table "rooms" is a text, which no rule can compare: use another column',
    'table "rom": the schema has no such table: there are rooms, members',
    'log "sheet": the schema has no such log: there are none',
    'rights have no "object": there are tables, logs and objects',
  ]);
});

test("a mistake in a rule is a sentence that says what to write", () => {
  const cases: readonly [rule: (scene: any) => unknown, wanted: string][] = [
    [({ row }) => row.owner.is(user.sub) && row.size.less(3), "it does not use"],
    [({ row }) => row.owner.is(user.sub).and(true), ".and() takes rules, such as row.owner.is(user.sub), not boolean"],
    [({ row }) => row.owner.is(undefined), "row.owner is compared with undefined, which is not of type string: a claim is written"],
    [({ row }) => row.owner.is(user.claim), "which is not of type string: call it"],
    [({ row }) => row.owner.is(row.id), "row.owner is of type string, and row.id of type id: compare what is alike"],
    [({ row }) => row.size.is("3"), 'row.size is compared with "3", which is not of type float'],
    [({ row }) => row.id.is("kitchen"), 'row.id is compared with "kitchen", which is not of type id'],
    [({ row }) => row.owner.in(["a"]), "constants one by one"],
    [({ at, row }) => at.members(row.id).exists(), "at.members(…) names 1 columns of a key that has 2: give room, user"],
    [({ at, row }) => at.member(row.id, user.sub).exists(), 'the schema has no table "member": there are rooms, members'],
    [({ at, row }) => at.members(row.id, user.sub).exists({ user: { like: "a" } }), 'members.user has no comparison "like"'],
    [({ ops }) => ops.only({ id: ops.any }), "is of the key, which no update changes"],
    [({ ops }) => ops.only({ size: ops.add(1, 1) }), 'column "size" of table "rooms" is a float, to which nothing does "add"'],
    [({ ops }) => ops.only({ size: ops.put }), "needs an operation, such as ops.any or ops.put(user.sub), not function: call it"],
    [({ ops }) => ops.only({ body: ops.any, owner: ops.put(3) }), "is compared with 3, which is not of type string"],
    [() => user.claim("level").is(1.5), "user.level is compared with 1.5, which is not a text, a whole number, true or false"],
  ];
  for (const [update, wanted] of cases) {
    const said = problemsOf({ tables: { rooms: { update }, members: open } });
    assert.ok(said.startsWith('table "rooms", rule "update": ') && said.includes(wanted), `${wanted}: ${said}`);
  }
});

test("a set of rows is of a column that has one value", () => {
  assert.throws(() => mine(everySchema, "rooms", "admins" as "id", { owner: user.sub }), /mine\(…\): column "admins" of table "rooms" has no one value/);
});

/** Mistakes that the compiler refuses. */
export function typed(id: Id, rule: Rule): void {
  const types = defineSchema({ ...schema.tables, likes: live(s.counter()), notes: table({ id: s.id(), tags: s.set(s.string()), photo: s.blob(), rank: s.int().optional(), done: s.bool() }) });
  const rooms = mine(types, "members", "room", { user: user.sub });
  defineRights(types, {
    tables: {
      rooms: {
        // @ts-expect-error a rule of reading follows no rows
        read: ({ at, row }) => at.members(row.id, user.sub).exists(),
        create: ({ row, at, after, now }) =>
          row.id
            .in(rooms)
            .and(row.id.is(id), row.size.less(now), row.owner.is(user.claim("team")), at.rooms(row.id).owner.beginsWith("a"), after.likes("x").value.atMost(3n))
            .and(
              // @ts-expect-error there is no such column
              row.autor.is(user.sub),
              // @ts-expect-error an owner is a text
              row.owner.is(3),
              // @ts-expect-error an id is no text
              row.owner.is(row.id),
              // @ts-expect-error nor a text an id
              row.id.is("kitchen"),
              // @ts-expect-error an owner is never null
              row.owner.is(null),
              // @ts-expect-error owners are in no set of rooms
              row.owner.in(rooms),
              // @ts-expect-error a number has no beginning
              row.size.beginsWith("1"),
              // @ts-expect-error no rule can look at a text that several people write
              row.body.is("x"),
              // @ts-expect-error the key has two columns
              at.members(row.id).exists(),
              // @ts-expect-error the first of which is an id
              at.members(user.sub, row.id).exists(),
              // @ts-expect-error there is no such table
              at.member(row.id, user.sub).exists(),
              // @ts-expect-error a row that is followed has columns of its table only
              at.rooms(row.id).user.is(user.sub),
              // @ts-expect-error and is asked for these only
              at.rooms(row.id).exists({ user: user.sub }),
              // @ts-expect-error a rule is joined with rules
              rule.and(true),
              // @ts-expect-error claims are named by claim()
              row.owner.is(user.team),
            ),
        // @ts-expect-error only updates have operations
        delete: ({ ops }) => ops.only({}),
        update: ({ ops }) =>
          ops.only({ owner: ops.put(user.sub), size: [ops.put({ atLeast: 1, less: user.claim("level") }), ops.any] }).and(
            // @ts-expect-error there is no such column
            ops.only({ ower: ops.any }),
            // @ts-expect-error the key stays
            ops.only({ id: ops.any }),
            // @ts-expect-error nothing is added to a float
            ops.only({ size: ops.add(1, 1) }),
            // @ts-expect-error an owner is a text
            ops.only({ owner: ops.put(3) }),
            // @ts-expect-error within its bounds, too
            ops.only({ size: ops.put({ atLeast: "a" }) }),
            // @ts-expect-error there is no such comparison
            ops.only({ size: ops.put({ gte: 1 }) }),
          ),
      },
      members: open,
      likes: {
        // @ts-expect-error rows of a live table are always there
        create: everybody,
        update: ({ ops, row }) => row.key.is(user.sub).and(ops.only({ value: ops.add(1, 1) })),
      },
      notes: {
        update: ({ row, ops }) =>
          row.tags.contains("a").and(row.rank.is(null), row.done.is(true), ops.only({ rank: ops.put(null), photo: ops.put(), tags: ops.insert(user.sub) })).and(
            // @ts-expect-error members of tags are texts
            row.tags.contains(3),
            // @ts-expect-error a set is no value
            row.tags.is("a"),
            // @ts-expect-error no rule can look at a blob
            row.photo.is("a"),
            // @ts-expect-error a flag is never null
            ops.only({ done: ops.put(null) }),
          ),
        // @ts-expect-error a rule is no truth
        check: () => true,
      },
    },
    // @ts-expect-error nothing is written in a log
    logs: { sheet: { join: ({ after, key }) => after.members(key, user.sub).exists() } },
    objects: { TodoList: { hold: ({ id: own, at }) => at.likes(own).exists() } },
  });
  // @ts-expect-error there is no such table
  defineRights(types, { tables: { note: open } });
  // @ts-expect-error there is no such column
  mine(types, "members", "rom", { user: user.sub });
  // @ts-expect-error the user is a text
  mine(types, "members", "room", { user: 3 });
  defineRights(types, {
    // @ts-expect-error a set is compared with claims and constants only
    tables: { rooms: { create: ({ row }) => row.id.in(mine(types, "members", "room", { user: row.owner })) } },
  });
}
