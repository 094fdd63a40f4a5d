/** No argument of any type stops a client, whatever of the app's code hides in it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Abort, asId, createClient, defineLog, defineMutators, defineSchema, live, mutator, operation, s, table } from "../index.js";
import { wrongValues } from "../testing/wrongValues.js";

// Every value of the sweep is handed over as anything.
type Any = any; // eslint-disable-line

const log = defineLog("sheet", { cells: table({ sheet: s.string(), at: s.int(), text: s.string() }).key("sheet", "at") }, { put: operation(() => undefined) });
const schema = defineSchema({
  ...log.tables,
  notes: table({
    id: s.id(),
    title: s.string(),
    size: s.int(),
    raw: s.bytes().optional(),
    votes: s.counter(),
    tags: s.set(s.string()),
    steps: s.list(s.int()),
    meta: s.map(s.string()),
    owner: s.register(s.string()).optional(),
    body: s.text(),
    link: s.id().optional(),
  }),
  pad: live(s.text()),
  hits: live(s.counter()),
  words: live(s.list(s.string())),
  names: live(s.map(s.string())),
  marks: live(s.set(s.string())),
});

const ID = asId("1".repeat(32));
let probe: (tx: Any) => unknown = () => undefined;
const mutators = defineMutators(schema, {
  make: mutator((tx) => tx.notes.insert({ id: ID, title: "a", size: 1 })),
  probe: mutator((tx) => probe(tx)),
  take: mutator((_, args: Any) => args as unknown),
  hit: mutator((tx) => tx.hits.ref("a").increment()),
});

/** How the column is called where only the core knows which one it is. */
const NAMED = /^the (value|total|amount|member|element|key|key of the map|instance)( has \d+ characters| cannot be read|\[\d+\] is a hole)|: its key has \d+ values?/;

type Use = readonly [named: RegExp, use: (on: Any, value: Any) => unknown];

const note = (tx: Any): Any => tx.notes.ref(ID);

/** The methods that closures call. */
const CLOSURES: Readonly<Record<string, Use>> = {
  get: [/column "id"|the key/, (tx, value) => tx.notes.get(value)],
  getAll: [/the keys|column "id"|the key/, (tx, value) => tx.notes.getAll(value)],
  "getAll of one": [/column "id"|the key/, (tx, value) => tx.notes.getAll([value])],
  has: [/column "id"|the key/, (tx, value) => tx.notes.has(value)],
  ref: [/column "id"|the key/, (tx, value) => tx.notes.ref(value).title.get()],
  delete: [/column "id"|the key/, (tx, value) => tx.notes.delete(value)],
  range: [/range of table "notes"/, (tx, value) => tx.notes.range(value)],
  ...Object.fromEntries(
    ["prefix", "from", "after", "to", "limit", "reverse"].map((name): [string, Use] => [
      `range ${name}`,
      [new RegExp(`${name}|column "id"|its key has`), (tx, value) => tx.notes.range({ [name]: value })],
    ]),
  ),
  "a value of prefix": [/column "id"|prefix/, (tx, value) => tx.notes.range({ prefix: [value] })],
  where: [/where of table "notes"|has no column/, (tx, value) => tx.notes.where(value).all()],
  "where of a value": [/column "size"/, (tx, value) => tx.notes.where({ size: value }).all()],
  "where eq": [/column "title"/, (tx, value) => tx.notes.where({ title: { eq: value } }).all()],
  "where in": [/column "title"/, (tx, value) => tx.notes.where({ title: { in: value } }).all()],
  "where in one": [/column "title"/, (tx, value) => tx.notes.where({ title: { in: [value] } }).all()],
  "where of bytes": [/column "raw"/, (tx, value) => tx.notes.where({ raw: value }).all()],
  "where contains": [/column "tags"/, (tx, value) => tx.notes.where({ tags: { contains: value } }).all()],
  "where startsWith": [/column "title"/, (tx, value) => tx.notes.where({ title: { startsWith: value } }).all()],
  whereAny: [/whereAny|has no column/, (tx, value) => tx.notes.whereAny(value).all()],
  orderBy: [/has no column|the column that orders/, (tx, value) => tx.notes.orderBy(value).all()],
  direction: [/an order is/, (tx, value) => tx.notes.orderBy("title", value).all()],
  limit: [/limit|index/, (tx, value) => tx.notes.orderBy("title").limit(value).all()],
  "after a row": [/after|index|column "id"/, (tx, value) => tx.notes.orderBy("title").after(value).all()],
  "after a value": [/after|index|column/, (tx, value) => tx.notes.orderBy("title").after({ id: ID, title: value }).all()],
  insert: [/insert|notes/, (tx, value) => tx.notes.insert(value)],
  ...Object.fromEntries(
    ["id", "title", "size", "raw", "votes", "tags", "steps", "meta", "owner", "body", "link"].map((name): [string, Use] => [
      `insert ${name}`,
      [new RegExp(`column "${name}"|notes`), (tx, value) => tx.notes.insert({ id: "2".repeat(32), title: "b", size: 1, [name]: value })],
    ]),
  ),
  "insert one tag": [/column "tags"/, (tx, value) => tx.notes.insert({ id: "2".repeat(32), title: "b", size: 1, tags: [value] })],
  "insert one entry": [/column "meta"/, (tx, value) => tx.notes.insert({ id: "2".repeat(32), title: "b", size: 1, meta: new Map([[value, value]]) })],
  update: [/update of table "notes"|column/, (tx, value) => tx.notes.update(ID, value)],
  "update title": [/column "title"/, (tx, value) => tx.notes.update(ID, { title: value })],
  "update owner": [/column "owner"/, (tx, value) => tx.notes.update(ID, { owner: value })],
  "set title": [/column "title"/, (tx, value) => note(tx).title.set(value)],
  "set raw": [/column "raw"/, (tx, value) => note(tx).raw.set(value)],
  "set votes": [/column "votes"/, (tx, value) => note(tx).votes.set(value)],
  increment: [/column "votes"/, (tx, value) => note(tx).votes.increment(value)],
  decrement: [/column "votes"/, (tx, value) => note(tx).votes.decrement(value)],
  "has tag": [/column "tags"/, (tx, value) => note(tx).tags.has(value)],
  "tag at": [/index/, (tx, value) => note(tx).tags.at(value)],
  "add tag": [/column "tags"/, (tx, value) => note(tx).tags.add(value)],
  "delete tag": [/column "tags"/, (tx, value) => note(tx).tags.delete(value)],
  "step at": [/index/, (tx, value) => note(tx).steps.at(value)],
  "slice from": [/index/, (tx, value) => note(tx).steps.slice(value, 2)],
  "slice to": [/index/, (tx, value) => note(tx).steps.slice(0, value)],
  push: [/column "steps"/, (tx, value) => note(tx).steps.push(value)],
  "set step at": [/index|list|element/, (tx, value) => note(tx).steps.set(value, 1)],
  "set step": [/column "steps"|index|list|element/, (tx, value) => note(tx).steps.set(0, value)],
  "get entry": [/column "meta"/, (tx, value) => note(tx).meta.get(value)],
  "has entry": [/column "meta"/, (tx, value) => note(tx).meta.has(value)],
  "set entry": [/column "meta"/, (tx, value) => note(tx).meta.set(value, "v")],
  "set entry to": [/column "meta"|of a map/, (tx, value) => note(tx).meta.set("k", value)],
  "delete entry": [/column "meta"/, (tx, value) => note(tx).meta.delete(value)],
  "insert at": [/index|text/, (tx, value) => note(tx).body.insert(value, "x")],
  "insert text": [/text|column "body"/, (tx, value) => note(tx).body.insert(0, value)],
  "remove at": [/index|text/, (tx, value) => note(tx).body.remove(value, 0)],
  "remove so much": [/index|text/, (tx, value) => note(tx).body.remove(0, value)],
  "live get": [/column "key"|the key/, (tx, value) => tx.hits.get(value)],
  "live ref": [/column "key"|the key/, (tx, value) => tx.hits.ref(value).increment()],
};

/** The methods of a client, and of what it makes. */
const CLIENT: Readonly<Record<string, Use>> = {
  setToken: [/token/, (db, value) => db.setToken(value)],
  dismiss: [/^$/, (db, value) => db.dismiss(value)],
  observe: [/closure/, (db, value) => db.observe(value).stop()],
  "observe options": [/options|view/, (db, value) => db.observe(() => 1, value).stop()],
  "observe view": [/view/, (db, value) => db.observe(() => 1, { view: value }).stop()],
  react: [/closure/, (db, value) => db.react(value, {}, () => undefined)()],
  "react options": [/options|view/, (db, value) => db.react(() => 1, value, () => undefined)()],
  "react callback": [/callback/, (db, value) => db.react(() => 1, {}, value)()],
  read: [/closure|unavailable|^/, (db, value) => db.read(value)],
  "read options": [/options|view/, (db, value) => db.read(() => 1, value)],
  "read view": [/view/, (db, value) => db.read(() => 1, { view: value })],
  peek: [/closure/, (db, value) => db.peek(value)],
  "peek view": [/view/, (db, value) => db.peek(() => 1, { view: value })],
  difference: [/view/, (db, value) => db.difference(value, "confirmed")],
  "difference to": [/view/, (db, value) => db.difference("confirmed", value)],
  "difference options": [/options/, (db, value) => db.difference("optimistic", "confirmed", value)],
  "difference table": [/table/, (db, value) => db.difference("optimistic", "confirmed", { table: value })],
  pin: [/closure/, (db, value) => db.pin(value)()],
  "pin callback": [/callback/, (db, value) => db.pin(() => 1, value)()],
  transact: [/closure|connection/, (db, value) => db.transact(value)],
  log: [/log/, (db, value) => db.log(value, "a")],
  "log instance": [/column "sheet"/, (db, value) => db.log(log, value)],
  rebaseEvery: [/pause|milliseconds|s\b/, (db, value) => db.log(log, "a").rebaseEvery(value)],
  "log operation": [/arguments/, (db, value) => db.log(log, "a").do.put(value)],
  onMembers: [/callback/, (db, value) => db.log(log, "a").onMembers(value)()],
  onStopped: [/callback/, (db, value) => db.log(log, "a").onStopped(value)()],
  onConnectionChange: [/callback/, (db, value) => db.onConnectionChange(value)()],
  onCentre: [/callback/, (db, value) => db.onCentre(value)()],
  onPendingChange: [/callback/, (db, value) => db.onPendingChange(value)()],
  onRefusedChange: [/callback/, (db, value) => db.onRefusedChange(value)()],
  onViewsChange: [/callback/, (db, value) => db.onViewsChange(value)()],
  onMutationSettled: [/callback/, (db, value) => db.onMutationSettled(value)()],
  mutate: [/arguments/, (db, value) => db.mutate.take(value).cancel()],
  "mutate member": [/arguments/, (db, value) => db.mutate.take({ a: [value] }).cancel()],
  until: [/stage/, (db, value) => db.mutate.hit().until(value)],
  "handle onChange": [/callback/, (db, value) => db.mutate.hit().onChange(value)()],
  "live key": [/key|column/, (db, value) => db.live.hits(value).increment()],
  "live options": [/options|view/, (db, value) => db.live.hits("a", value)],
  "live increment": [/column "value"/, (db, value) => db.live.hits("a").increment(value)],
  "live set": [/column "value"/, (db, value) => db.live.hits("a").set(value)],
  "live text": [/text|column "value"/, (db, value) => db.live.pad("a").insert(0, value)],
  "live text at": [/index|text/, (db, value) => db.live.pad("a").insert(value, "x")],
  "live splice": [/index|text/, (db, value) => db.live.pad("a").splice(0, value, "x")],
  "live push": [/column "value"/, (db, value) => db.live.words("a").push(value)],
  "live slice": [/index/, (db, value) => db.live.words("a").slice(value, value)],
  "live set at": [/index|element|list/, (db, value) => db.live.words("a").set(value, "x")],
  "live rows": [/rows|table|schema/, (db, value) => db.live.words("a").slice(0, 1).rows(value)],
  "live entry": [/column "value"/, (db, value) => db.live.names("a").set(value, "x")],
  "live entry to": [/column "value"|of a map/, (db, value) => db.live.names("a").set("k", value)],
  "live add": [/column "value"/, (db, value) => db.live.marks("a").add(value)],
  "live row": [/update of table "notes"|column/, (db, value) => db.live.notes(ID).self.update(value)],
  "live column": [/column "title"/, (db, value) => db.live.notes(ID).title.set(value)],
  "live onChange": [/callback/, (db, value) => db.live.hits("a").onChange(value)()],
};

const given = { url: "ws://127.0.0.1:1/sync", token: "", name: "sweep", user: "ada", schema, mutators, paused: true, development: false, storage: "memory" } as const;

test("no argument of any type stops a client, and every refusal has a code and names the argument", async () => {
  const db = await createClient(given);
  db.mutate.make();
  const values = wrongValues(() => {
    try {
      db.mutate.hit().cancel();
      db.peek(() => 1);
    } catch {
      // A closure runs.
    }
  });
  const wrong: string[] = [];
  let combinations = 0;
  const judge = (what: string, named: RegExp, thrown: unknown): void => {
    const { name, code, message } = thrown as { name?: string; code?: string; message?: string };
    if (name === "Stopped" || code === "offline" || code === "not-held" || code === "unavailable" || code === "not-ready") {
      return;
    }
    if (typeof code !== "string" || code === "failed" || !(named.test(message ?? "") || NAMED.test(message ?? ""))) {
      wrong.push(`${what}: ${String(name)} ${String(code)} ${String(message).slice(0, 150)}`);
    }
  };
  const alive = (what: string): void => assert.equal(db.peek(() => 1), 1, `the client is dead after ${what}`);
  for (const [name, value] of Object.entries(values)) {
    for (const [method, [named, use]] of Object.entries(CLOSURES)) {
      probe = (tx) => {
        try {
          use(tx, value);
        } catch (thrown) {
          judge(`${method} of ${name}`, named, thrown);
        }
        throw new Abort("enough");
      };
      db.mutate.probe().cancel();
      combinations += 1;
      alive(`${method} of ${name}`);
    }
    for (const [method, [named, use]] of Object.entries(CLIENT)) {
      try {
        const result = use(db, value);
        if (result instanceof Promise && !["read", "until", "transact"].includes(method)) {
          await result;
        } else if (result instanceof Promise) {
          result.catch((thrown: unknown) => judge(`${method} of ${name}`, named, thrown));
        }
      } catch (thrown) {
        judge(`${method} of ${name}`, named, thrown);
      }
      combinations += 1;
      alive(`${method} of ${name}`);
    }
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(wrong, []);
  assert.ok(combinations > 5000, `${combinations} combinations`);
  assert.equal(db.mutate.hit().status.state, "pending");
  await db.close();
});

test("what a closure throws or returns does not stop a client", async () => {
  const db = await createClient({ ...given, user: "bob" });
  for (const [name, value] of Object.entries(wrongValues(() => undefined))) {
    probe = () => {
      throw value;
    };
    db.mutate.probe();
    probe = () => {
      throw Object.defineProperty(new Error("e"), "message", { get: () => { throw value; } });
    };
    db.mutate.probe();
    probe = () => {
      throw new Abort(value as string);
    };
    db.mutate.probe();
    probe = () => value;
    db.mutate.probe().cancel();
    db.observe(() => value).stop();
    assert.equal(db.peek(() => 1), 1, `the client is dead after ${name}`);
  }
  await db.close();
});
