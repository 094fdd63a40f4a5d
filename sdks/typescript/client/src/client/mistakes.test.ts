/** Mistakes that a compiler would find, made by those who have none. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { asId, createClient, defineMutators, defineSchema, live, mutator, s, table } from "../index.js";
import { schema, mutators } from "../testing/notesApp.js";
import { until } from "../testing/until.js";
import { tokenOf } from "./tokenOption.js";

const options = { url: "ws://127.0.0.1:1/sync", token: "", name: "mistakes", user: "ada", schema, mutators, paused: true };
const open = (wrong: object) => createClient({ ...options, ...wrong } as typeof options);

test("createClient names the option that is missing or wrong", async () => {
  const call = (message: RegExp) => ({ code: "call", message });
  await assert.rejects(open({ url: "http://127.0.0.1/sync" }), call(/begins with ws/));
  await assert.rejects(open({ url: "ws://127.0.0.1:7777" }), call(/no path: ws:\/\/127\.0\.0\.1:7777\/sync/));
  await assert.rejects(open({ url: [] }), call(/the address of a server, or several/));
  await assert.rejects(open({ url: [options.url, "http://127.0.0.1/sync"] }), call(/begins with ws/));
  await assert.rejects(open({ name: undefined, user: 5 }), call(/a string for name, user$/));
  for (const token of [undefined, null, 5, {}, ["a"]]) {
    await assert.rejects(open({ token }), call(/a string for token, or a function that gives one/));
  }
  await assert.rejects(open({ schema: undefined }), call(/defineSchema/));
  await assert.rejects(open({ mutators: {} }), call(/defineMutators/));
  await assert.rejects(open({ storage: "sqlite" }), call(/"sqlite"/));
  for (const url of [null, 5, {}, [null], ["ws://127.0.0.1:1/sync", 5], () => 1, Symbol("a")]) {
    await assert.rejects(open({ url }), call(/^url is the address of a server/));
  }
  await assert.rejects(open({ url: undefined }), call(/pass url, or centres/));
  for (const user of ["", "a\ud800", null, {}, 5n]) {
    await assert.rejects(open({ user }), call(/user/));
    await assert.rejects(open({ name: user }), call(/name/));
  }
  for (const wrong of ["no", 0, 1, null, {}]) {
    await assert.rejects(open({ paused: wrong }), call(/^paused is true or false/));
    await assert.rejects(open({ development: wrong }), call(/^development is true or false/));
  }
  for (const batch of [5, null, [], "50", { ms: undefined }, { msec: 50 }, {}]) {
    await assert.rejects(open({ batch }), call(/batch/));
  }
  await assert.rejects(open({ cacheBytes: -1 }), call(/cacheBytes .* not -1/));
  const others = defineSchema({ others: table({ id: s.id() }) });
  await assert.rejects(open({ mutators: defineMutators(others, {}) }), call(/another schema/));
});

test("a user as whom a page speaks in development has a name, and claims that a token can have", async () => {
  const text = tokenOf({ token: "dev", as: { sub: "ann", roles: ["teller"], level: 3, staff: true } });
  assert.equal(text, 'dev as {"sub":"ann","roles":["teller"],"level":3,"staff":true}');
  for (const as of [{}, { sub: "" }, { sub: 5 }, { sub: "x".repeat(257) }, { roles: ["teller"] }]) {
    await assert.rejects(open({ as }), { code: "call", message: /as needs sub, the name of the user/ });
  }
  for (const claim of [null, undefined, {}, [5], Number.NaN, 0.5, 5n, "a\ud800", () => "teller"]) {
    await assert.rejects(open({ as: { sub: "ann", claim } }), { code: "call", message: /^as\.claim is a string, a whole number/ });
  }
  await assert.rejects(open({ as: "ann" }), { code: "call", message: /^as is a plain object, not "ann"/ });
  await assert.rejects(open({ as: { sub: "ann" }, token: () => "dev" }), { code: "call", message: /leave as out/ });
});

test("an address may be a URL", async () => {
  const client = await open({ url: new URL(options.url) });
  await client.close();
  const other = await open({ url: [new URL(options.url), options.url] });
  await other.close();
});

test("words that only types check are checked", async () => {
  const client = await open({});
  const handle = client.mutate.hit({ page: "words" });
  for (const stage of ["Confirmed", "sent", "", undefined, null, 5, {}]) {
    await assert.rejects(handle.until(stage as never), { code: "call", message: /the stage is one of "durable", "confirmed", "delivered"/ });
  }
  for (const view of ["Confirmed", "", null, 5, ["confirmed"]]) {
    assert.throws(() => client.observe(() => 1, { view } as never), { code: "call", message: /view is one of "optimistic"/ });
    assert.throws(() => client.peek(() => 1, { view } as never), { code: "call", message: /view is one of/ });
    assert.throws(() => client.live.hits("a", { view } as never), { code: "call", message: /view is one of/ });
    assert.throws(() => client.difference(view as never, "confirmed"), { code: "call", message: /the first view is one of/ });
    await assert.rejects(client.read(() => 1, { view } as never), { code: "call", message: /view is one of/ });
  }
  assert.throws(() => client.observe(() => 1, { veiw: "confirmed" } as never), { code: "call", message: /no option "veiw"/ });
  await client.close();
});

test("a client asks for batches that a server grants, or not at all", async () => {
  for (const ms of [-1, 0.5, 10_001, Number.NaN, "50"]) {
    await assert.rejects(open({ batch: { ms } }), { code: "call", message: /0 to 10000 whole milliseconds/ });
  }
  const client = await open({ batch: { ms: 10_000 } });
  await client.close();
});

test("a schema and mutators name what was not made by their functions", () => {
  const define = defineSchema as (tables: object) => unknown;
  assert.throws(() => define({ notes: { id: s.id() } }), /table "notes": make it with table/);
  assert.throws(() => define({ notes: table({ id: s.id } as never) }), /table "notes", column "id": make it with a type of s/);
  assert.throws(() => live(s.counter(), { isolaton: "snapshot" } as never), { code: "schema", message: /no option "isolaton"/ });
  assert.throws(() => defineMutators(schema, { go: (() => 1) as never }), /mutator "go": wrap its function/);
});

const NOBODY = asId("0".repeat(32));

const mistaken = defineMutators(schema, {
  // @ts-expect-error there is no such table
  misspeltTable: mutator((tx) => tx.ntoes.range()),
  // @ts-expect-error there is no such column
  misspeltColumn: mutator((tx) => tx.notes.ref(NOBODY).tilte.get()),
  // @ts-expect-error keys have no cells
  keyColumn: mutator((tx) => tx.notes.ref(NOBODY).id.get()),
  // @ts-expect-error counters are incremented
  setCounter: mutator((tx) => tx.notes.update(NOBODY, { votes: 5 })),
});

test("a closure that misspells a name, or puts what is changed otherwise, is told so", async () => {
  // Failures of closures are shown to developers.
  mock.method(console, "error", () => undefined);
  const client = await createClient({ ...options, mutators: mistaken });
  const reason = (name: keyof typeof client.mutate): string => {
    const { status } = client.mutate[name]();
    return status.state === "cancelled" ? status.reason : status.state;
  };
  assert.equal(reason("misspeltTable"), 'the schema has no table "ntoes"');
  assert.equal(reason("misspeltColumn"), 'table "notes" has no column "tilte"');
  assert.equal(reason("keyColumn"), 'table "notes": column "id" is in the primary key, and has no cell');
  assert.equal(reason("setCounter"), 'table "notes": column "votes" is a counter: change it through ref(key).votes');
  await client.close();
});

test("a call that does nothing, because its data is not here, is told to the developer; one that was taken back is not", async () => {
  const warned = mock.method(console, "warn", () => undefined);
  const client = await open({});
  client.mutate.setSize({ id: NOBODY, size: 5 });
  assert.equal(client.mutate.hit({ page: "home" }).cancel(), true);
  await client.close();
  const told = warned.mock.calls.map(({ arguments: [text] }) => text as string);
  assert.deepEqual(told, ["mutation setSize did nothing: what it reads of table \"notes\" is not on this device, and there is no connection"]);
});

test("react without a callback is refused at once", async () => {
  const client = await open({});
  // @ts-expect-error the callback is missing
  assert.throws(() => client.react(() => 1, {}), /needs a callback/);
  await client.close();
});

test("a query that has no answer as it is asked is an error at once, also offline", async () => {
  mock.method(console, "error", () => undefined);
  const client = await createClient({ ...options, name: "questions" });
  const fails = (ask: Parameters<typeof client.read>[0], message: RegExp) => assert.rejects(client.read(ask), { code: "transaction", message });
  await fails((tx) => tx.notes.orderBy("title").limit(3).all(), /declare one of the columns \["title"\]/);
  await fails((tx) => tx.notes.where({ title: 5 as never }).all(), /column "title" .* is asked for/);
  await fails((tx) => tx.notes.where({ size: { startsWith: "5" } as never }).count(), /column "size" .*int/);
  const seen: string[] = [];
  const question = { title: { startsWith: "a", not: "ab" }, size: { gte: 1, lt: 9 }, tags: { contains: "x" }, big: { in: [1n, null] } } as const;
  client.react((tx) => tx.notes.where(question).orderBy("title").all(), {}, ({ status }) => seen.push(status));
  await until("the core to have read all of the question", () => seen.at(-1) === "unavailable");
  await client.close();
});
