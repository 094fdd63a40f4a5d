import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Abort, type ClientOf, defineLog, defineMutators, defineSchema, mutator, operation, s, table } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { nextWrite } from "../testing/nextWrite.js";
import { until } from "../testing/until.js";

const sheet = defineLog(
  "sheet",
  { cells: table({ sheet: s.string(), at: s.string(), text: s.string() }).key("sheet", "at") },
  {
    header: operation((tx) => tx.cells.insert({ at: "A1", text: tx.instance === "budget" ? "Budget" : "Another" })),
    append: operation((tx, { at, text }: { at: string; text: string }) => {
      tx.cells.put({ at, text: (tx.cells.get([at])?.text ?? "") + text });
    }),
    /** Every way to name rows of the instance. */
    tour: operation((tx) => {
      tx.cells.insert({ sheet: tx.instance, at: "T1", text: "first" });
      tx.cells.put({ at: "T2", text: "second" });
      tx.cells.put({ at: "T3", text: "third" });
      tx.cells.update(["T1"], { text: "First" });
      tx.cells.ref([tx.instance, "T2"]).text.set("Second");
      tx.cells.delete(["T3"]);
      const ranges = [tx.cells.range({ prefix: ["T1"] }), tx.cells.range({ from: ["T1"], to: ["T2"] }), tx.cells.range({ after: ["T1"] })];
      const found = [...ranges.map((rows) => rows.map(({ at }) => at).join("+")), tx.cells.has(["T3"]), tx.cells.getAll([["T2"]])[0]?.text];
      const all = [tx.cells.range().length, tx.cells.range({ limit: 1 })[0]?.sheet];
      tx.cells.put({ at: "T9", text: [...found, ...all].join() });
    }),
    claim: operation((tx, who: string) => {
      const owner = tx.cells.get(["budget", "owner"])?.text;
      if (owner !== undefined) {
        throw new Abort(`it is ${owner}'s`);
      }
      tx.cells.insert({ sheet: "budget", at: "owner", text: who });
    }),
    ask: operation((tx) => (tx.cells as unknown as { where(asked: object): { count(): number } }).where({ text: "x" }).count()),
    tooLong: operation((tx) => tx.cells.get(["a", "b", "c"] as never)),
    stray: operation((tx) => (tx as unknown as { plain: { insert(row: object): void } }).plain.insert({ id: "a" })),
  },
  { initial: "header" },
);

const schema = defineSchema({ plain: table({ id: s.string() }), ...sheet.tables });

const mutators = defineMutators(schema, {
  meddle: mutator((tx, text: string) => tx.cells.insert({ sheet: "budget", at: "M1", text })),
  wonder: mutator((tx) => (tx as unknown as { instance: string }).instance),
});

type App = ClientOf<typeof mutators>;

const textAt = (app: App, at: string, of = "budget"): Promise<string | undefined> =>
  app.read((tx) => tx.cells.get([of, at])?.text, { view: "confirmed" });

describe("a log", () => {
  let server: DevServer;
  const clients: App[] = [];

  before(async () => {
    server = await startDevServer();
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
  });

  async function open(device = new FakeDevice()): Promise<App> {
    const client: App = await device.openTab({ url: server.url, token: server.token, name: "sheets", user: "ann", schema, mutators });
    clients.push(client);
    return client;
  }

  test("is replayed by two clients in the same order, behind what it begins with", async () => {
    const [ann, bob] = [await open(), await open()];
    const logs = [ann.log(sheet, "budget"), bob.log(sheet, "budget")];
    assert.equal(ann.log(sheet, "budget"), logs[0], "it is joined once");
    assert.deepEqual([await textAt(ann, "A1"), await textAt(bob, "A1")], ["Budget", "Budget"]);
    const calls = Array.from({ length: 20 }, (_, turn) => logs[turn % 2]?.do.append({ at: "B2", text: String(turn % 2) }));
    await Promise.all(calls.map((call) => call?.until("confirmed")));
    await until("all entries", () => logs.every(({ position }) => position === 21));
    const [first = "", second] = [await textAt(ann, "B2"), await textAt(bob, "B2")];
    assert.equal(first, second);
    assert.equal([...first].sort().join(""), "0".repeat(10) + "1".repeat(10));
    assert.deepEqual(logs.map(({ stopped }) => stopped), [undefined, undefined]);
  });

  test("shows in the view `delivered` what all members have replayed", async () => {
    const [ann, bob] = [await open(), await open()];
    const logs = [ann.log(sheet, "budget"), bob.log(sheet, "budget")];
    await Promise.all([textAt(ann, "A1"), textAt(bob, "A1")]);
    const call = logs[0]?.do.append({ at: "D4", text: "4" });
    await call?.until("delivered");
    assert.deepEqual(call?.status, { state: "confirmed", delivered: true });
    const shown = ann.peek((tx) => tx.cells.get(["budget", "D4"])?.text, { view: "delivered" });
    assert.equal(shown, "4");
    assert.deepEqual(ann.difference("optimistic", "delivered", { table: "cells" }), []);
  });

  test("tells its members of each other, by the same names, and of who leaves", async () => {
    const [ann, bob] = [await open(), await open()];
    const log = ann.log(sheet, "budget");
    const seen: (readonly string[])[] = [];
    const stop = log.onMembers((members) => void seen.push(members.map(({ origin }) => origin)));
    await until("ann is a member", () => log.members.some(({ own }) => own));
    const ofBob = bob.log(sheet, "budget");
    await until("bob is a member", () => ofBob.members.some(({ own }) => own));
    const origin = ofBob.members.find(({ own }) => own)?.origin ?? "";
    assert.match(origin, /^[0-9a-f]{32}$/);
    await until("ann hears of bob", () => log.members.some((member) => member.origin === origin && !member.own));
    await bob.close();
    await until("ann hears that bob is gone", () => seen.at(-1)?.includes(origin) === false && seen.some((all) => all.includes(origin)));
    stop();
  });

  test("rejects the later one of two operations that exclude each other", async () => {
    const [ann, bob] = [await open(), await open()];
    const logs = [ann.log(sheet, "budget"), bob.log(sheet, "budget")];
    const ends = await Promise.allSettled([logs[0]?.do.claim("ann").until("confirmed"), logs[1]?.do.claim("bob").until("confirmed")]);
    assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const owner = await textAt(ann, "owner");
    const lost = ends.find((end) => end.status === "rejected");
    assert.deepEqual([lost?.reason.code, lost?.reason.reason], ["rejected", `it is ${owner}'s`]);
  });

  test("gives its operations the instance, for which their rows and keys are", async () => {
    const app = await open();
    const [budget, plans] = [app.log(sheet, "budget"), app.log(sheet, "plans")];
    assert.deepEqual([await textAt(app, "A1", "budget"), await textAt(app, "A1", "plans")], ["Budget", "Another"]);
    await Promise.all([plans.do.append({ at: "B1", text: "x" }).until("confirmed"), plans.do.tour().until("confirmed")]);
    assert.equal(await textAt(app, "T9", "plans"), "T1,T1,T2,false,Second,4,plans");
    assert.deepEqual([await textAt(app, "T1", "plans"), await textAt(app, "T9", "budget")], ["First", undefined]);
    await assert.rejects(budget.do.ask().until("confirmed"), /queries are not there in operations yet/);
    await assert.rejects(budget.do.tooLong().until("confirmed"), /its key has 2 values, not 3/);
    await assert.rejects(app.mutate.wonder().until("confirmed"), /only an operation of one has it/);
  });

  test("is left when nothing of it is pending, and joined again from its beginning", async () => {
    const device = new FakeDevice();
    const app = await open(device);
    const log = app.log(sheet, "left");
    await log.do.append({ at: "B1", text: "x" }).until("confirmed");
    assert.equal(log.position, 2);
    device.cut = true;
    app.goOffline();
    const late = log.do.append({ at: "B1", text: "y" });
    assert.throws(() => log.leave(), { code: "call", message: /1 operations of the log are pending/ });
    device.cut = false;
    app.goOnline();
    await late.until("confirmed");
    log.leave();
    log.leave();
    assert.equal(log.position, 0);
    assert.throws(() => log.do.append({ at: "B1", text: "z" }), { code: "call" });
    await assert.rejects(textAt(app, "B1", "left"), /join the log before you read it/);
    assert.equal(app.log(sheet, "left"), log, "the same log");
    await until("all of it again", () => log.position === 3);
    assert.equal(await textAt(app, "B1", "left"), "xy");
  });

  test("replays what others do in batches if it is asked to", async () => {
    const [ann, bob] = [await open(), await open()];
    const [own, other] = [ann.log(sheet, "batches"), bob.log(sheet, "batches")];
    await until("both have begun", () => own.position === 1 && other.position === 1);
    own.rebaseEvery(10_000);
    await other.do.append({ at: "B1", text: "x" }).until("confirmed");
    assert.equal(own.position, 1);
    own.rebaseEvery(0);
    await until("it is replayed", () => own.position === 2);
    assert.throws(() => own.rebaseEvery(10_001), { code: "call", message: /10s at most/ });
    assert.throws(() => own.rebaseEvery(Number.NaN), { code: "call" });
    assert.deepEqual([own.differs, own.stopped], [undefined, undefined]);
  });

  test("is read only once it is joined, and changed only by its operations, which touch nothing else", async () => {
    const app = await open();
    await assert.rejects(textAt(app, "A1"), { code: "transaction", message: /join the log before you read it/ });
    const log = app.log(sheet, "budget");
    await assert.rejects(log.do.stray().until("confirmed"), /reads and writes the rows of its own log/);
    await assert.rejects(app.mutate.meddle("x").until("confirmed"), /make it an operation of the log/);
    assert.equal(log.stopped, undefined);
  });
});

describe("a log of a tab that is robbed of the lead", () => {
  let server: DevServer;
  const clients: App[] = [];

  before(async () => {
    server = await startDevServer();
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
  });

  async function openTwo(): Promise<[device: FakeDevice, first: App, second: App]> {
    const device = new FakeDevice();
    for (const _ of [0, 1]) {
      const app: App = await device.openTab({ url: server.url, token: server.token, name: "sheets", user: "ann", schema, mutators });
      clients.push(app);
      await until("the connection", () => app.connection.status === "online");
    }
    return [device, ...clients.slice(-2)] as [FakeDevice, App, App];
  }

  /** The second of two tabs leads, the first one stood still. */
  async function rob(device: FakeDevice, at: number, next: App): Promise<void> {
    const wake = device.standStill(at);
    await until("the lead", () => next.connection.role === "leader");
    wake();
  }

  test("is the same log when that tab leads again", async () => {
    const [device, first, second] = await openTwo();
    const [budget, plans] = [first.log(sheet, "budget"), first.log(sheet, "plans")];
    const left = first.log(sheet, "left");
    await Promise.all([budget, plans].map((log) => log.do.append({ at: "B1", text: "1" }).until("confirmed")));
    left.leave();
    assert.equal(budget.position, 2);
    await rob(device, 0, second);
    await until("that the first follows", () => first.connection.role === "follower" && first.connection.status === "online");
    assert.throws(() => budget.do.append({ at: "B1", text: "x" }), { code: "not-leading" });
    assert.equal(budget.position, 2, "as it was known last");
    await second.log(sheet, "budget").do.append({ at: "B1", text: "2" }).until("confirmed");
    await rob(device, 1, first);
    assert.equal(first.log(sheet, "plans"), plans, "the same object");
    await budget.do.append({ at: "B1", text: "3" }).until("confirmed");
    assert.deepEqual([await textAt(first, "B1", "budget"), await textAt(first, "B1", "plans")], ["123", "1"]);
    assert.deepEqual([budget.position, plans.position, left.position], [4, 2, 0]);
    assert.throws(() => left.do.append({ at: "B1", text: "x" }), { code: "call", message: /is not joined/ });
    assert.equal(first.log(sheet, "left"), left);
  });

  test("gets an operation that was not stored as its own", async () => {
    const [device, first, second] = await openTwo();
    const log = first.log(sheet, "cut");
    await log.do.append({ at: "B1", text: "1" }).until("confirmed");
    device.cut = true;
    const written = nextWrite("fails");
    const late = log.do.append({ at: "B1", text: "2" });
    await written;
    await rob(device, 0, second);
    device.cut = false;
    second.goOnline();
    await late.until("confirmed");
    assert.equal(await textAt(second, "B1", "cut"), "12");
  });

  test("gets it also when that tab leads again at once", async () => {
    const [device, first, second] = await openTwo();
    const log = first.log(sheet, "again");
    await second.close();
    device.cut = true;
    const written = nextWrite("fails");
    const late = log.do.append({ at: "B1", text: "1" });
    await written;
    await device.locks?.request("iolite/sheets/ann", { steal: true }, () => undefined);
    device.cut = false;
    await until("the lead", () => first.connection.role === "leader" && first.pending.length === 1);
    first.goOnline();
    await late.until("confirmed");
    assert.equal(await textAt(first, "B1", "again"), "1");
    assert.equal(log.position, 2);
  });
});

describe("a log without a connection", () => {
  test("says what cannot be joined, and where", async () => {
    const device = new FakeDevice();
    device.cut = true;
    const options = { url: "ws://127.0.0.1:1/sync", token: "t", name: "sheets", user: "ann", schema, mutators };
    const leader: App = await device.openTab(options);
    const follower: App = await device.openTab(options);
    assert.equal(leader.log(sheet, "budget"), leader.log(sheet, "budget"), "it is joined once");
    assert.equal(leader.log(sheet, "budget").position, 0);
    await assert.rejects(leader.mutate.meddle("x").until("confirmed"), /make it an operation of the log/);
    assert.throws(() => follower.log(sheet, "budget"), { code: "not-leading" });
    assert.throws(() => leader.log(sheet, 5 as never), { code: "transaction", message: /of type string, and 5 was given/ });
    assert.throws(() => leader.log({} as never, "budget" as never), { code: "call", message: /that defineLog returned/ });
    const other = defineLog("chart", { bars: table({ chart: s.string(), at: s.int() }).key("chart", "at") }, {});
    assert.throws(() => leader.log(other, "a"), { code: "call", message: /another log "chart"/ });
    await Promise.all([follower.close(), leader.close()]);
  });
});
