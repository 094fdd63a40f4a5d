import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { defineMutators, defineSchema, live, MutationError, mutator, newId, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";

const schema = defineSchema({
  notes: table({ id: s.id(), body: s.text(), votes: s.counter() }),
  pages: live(s.text()),
});

const mutators = defineMutators(schema, {
  note: mutator((tx, args: { id: string; body?: string }) =>
    tx.notes.insert({ id: args.id as never, ...(args.body === undefined ? {} : { body: args.body }) }),
  ),
  sign: mutator((tx, args: { id: string; name: string }) => {
    const { body } = tx.notes.ref(args.id as never);
    body.insert(body.length, `\n${args.name}`);
    if (!body.get().endsWith(args.name)) {
      throw new Error("its own edit is not there");
    }
  }),
});

describe("texts", () => {
  const open = servedApps({ name: "texts", schema, mutators });

  async function says(page: { value: string | undefined }, wanted: string): Promise<void> {
    await until(`${JSON.stringify(wanted)}, not ${JSON.stringify(page.value)}`, () => page.value === wanted);
  }

  test("begin with a string, are read as one, and are changed by position in mutators", async () => {
    const app = await open();
    const [id, empty] = [newId(), newId()];
    await app.mutate.note({ id, body: "hello \u{1fa91}" }).until("confirmed");
    await app.mutate.note({ id: empty }).until("confirmed");
    await app.mutate.sign({ id, name: "Ann" }).until("confirmed");
    const rows = await (await open()).read((tx) => [tx.notes.get(id), tx.notes.get(empty), tx.notes.ref(id).body.length] as const);
    assert.deepEqual(rows, [{ id, body: "hello \u{1fa91}\nAnn", votes: 0 }, { id: empty, body: "", votes: 0 }, 12]);
  });

  test("that two type into at once end as one", async () => {
    const [ann, ben] = [await open(), await open()];
    const [hers, his] = [ann.live.pages("two"), ben.live.pages("two")];
    const stops = [hers.onChange(() => undefined), his.onChange(() => undefined)];
    await says(hers, "");
    await says(his, "");
    const typed = [..."left"].flatMap((letter, at) => [hers.insert(at, letter), his.insert(at, letter.toUpperCase())]);
    await Promise.all(typed.map((handle) => handle.until("confirmed")));
    await until("one text", () => hers.value?.length === 8 && hers.value === his.value);
    assert.ok(["leftLEFT", "LEFTleft"].includes(hers.value ?? ""), hers.value);
    await hers.splice(0, 8, "both").until("confirmed");
    await says(his, "both");
    stops.forEach((stop) => stop());
  });

  test("keep what was typed offline over a restart, where it was typed", async () => {
    const device = new FakeDevice();
    const app = await open(device);
    const page = app.live.pages("offline");
    const stop = page.onChange(() => undefined);
    await says(page, "");
    await page.insert(0, "the end").until("confirmed");
    app.goOffline();
    const last = [..."happy "].map((letter, at) => page.insert(4 + at, letter)).at(-1);
    assert.equal(page.written, "the happy end");
    await app.settled();
    assert.equal(page.value, "the happy end");
    await last?.until("durable");
    stop();
    await app.close();
    const other = await open();
    const theirs = other.live.pages("offline");
    const stopTheirs = theirs.onChange(() => undefined);
    await says(theirs, "the end");
    await theirs.insert(0, "This is ").until("confirmed");
    const again = await open(device);
    await until("the end", () => again.pending.length === 0);
    await says(theirs, "This is the happy end");
    stopTheirs();
  });

  test("are typed into by two tabs of one client", async () => {
    const device = new FakeDevice();
    const [leads, follows] = [await open(device), await open(device)];
    assert.deepEqual([leads.connection.role, follows.connection.role], ["leader", "follower"]);
    const [one, other] = [leads.live.pages("tabs"), follows.live.pages("tabs")];
    const stops = [one.onChange(() => undefined), other.onChange(() => undefined)];
    await says(one, "");
    await says(other, "");
    [..."ab"].forEach((letter, at) => other.insert(at, letter));
    [..."12"].forEach((letter, at) => one.insert(at, letter));
    await until("one text", () => one.value?.length === 4 && one.value === other.value);
    assert.ok(["ab12", "12ab"].includes(one.value ?? ""), one.value);
    await until("the end", () => leads.pending.length === 0);
    stops.forEach((stop) => stop());
  });

  test("cannot be edited while nobody knows them, as a tab takes the lead, and can again when it has it", async (t) => {
    const device = new FakeDevice();
    const [leads, follows] = [await open(device), await open(device)];
    const page = follows.live.pages("handed");
    const stop = page.onChange(() => undefined);
    await says(page, "");
    await page.insert(0, "to and fro").until("confirmed");
    await says(page, "to and fro");
    const release = await device.holdStorage("iolite/texts/ann");
    t.after(release);
    await leads.close();
    await until("that nobody leads", () => page.written === undefined);
    assert.equal(page.value, "to and fro", "what is shown stays");
    assert.throws(() => page.insert(10, "!"), { code: "not-ready" });
    release();
    await until("the lead", () => page.written === "to and fro");
    await page.insert(10, "!").until("confirmed");
    stop();
  });

  test("say at once what does not fit", async () => {
    const app = await open();
    assert.throws(() => app.live.pages("unseen").insert(0, "x"), { code: "not-ready", message: /watch it/ });
    const page = app.live.pages("wrong");
    const stop = page.onChange(() => undefined);
    await says(page, "");
    await page.insert(0, "\u{1fa91}").until("confirmed");
    assert.throws(() => page.remove(0, 1), /halves of one character/);
    assert.throws(() => page.insert(3, "x"), /has 2 UTF-16 units/);
    assert.throws(() => page.insert(-1, "x"), { code: "transaction", message: /the index is a whole number/ });
    assert.equal(page.value, "\u{1fa91}");
    stop();
  });

  test("refuse an edit that stands on one that was taken back, and keep it", async () => {
    const app = await open();
    const page = app.live.pages("taken");
    const stop = page.onChange(() => undefined);
    await says(page, "");
    app.goOffline();
    const [first, second] = [page.insert(0, "a"), page.insert(1, "b")];
    first.cancel();
    app.goOnline();
    await assert.rejects(second.until("confirmed"), MutationError);
    assert.match(JSON.stringify(app.refused.map(({ args }) => args)), /"text":"b"/);
    await says(page, "");
    stop();
  });
});
