import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { type ClientOf, defineMutators, defineSchema, mutator, s, table, type View, type WriteTransaction } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { until } from "../testing/until.js";

const schema = defineSchema({
  items: table({ room: s.string(), id: s.string(), x: s.int() }).key("room", "id").delivered(),
  plain: table({ id: s.string() }),
});

const mutators = defineMutators(schema, {
  place: mutator((tx, { x }: { x: number }) => tx.items.insert({ room: "hall", id: "chair", x })),
  move: mutator((tx, { x }: { x: number }) => tx.items.update(["hall", "chair"], { x })),
});

type App = ClientOf<typeof mutators>;

const placeOf = (app: App, view: "confirmed" | "delivered"): Promise<number | undefined> =>
  app.read((tx) => tx.items.get(["hall", "chair"])?.x, { view });

describe("the delivered view", () => {
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
    const client: App = await device.openTab({ url: server.url, token: server.token, name: "items", user: "ann", schema, mutators });
    clients.push(client);
    return client;
  }

  test("has an own change once everybody who follows it has applied it", async () => {
    const [ann, bob] = [await open(), await open()];
    await ann.mutate.place({ x: 1 }).until("delivered");
    assert.equal(await placeOf(ann, "delivered"), 1);
    const seen: (number | undefined)[] = [];
    bob.react((tx) => tx.items.get(["hall", "chair"])?.x, {}, ({ data }) => seen.push(data));
    await until("the chair", () => seen.at(-1) === 1);
    const moved = ann.mutate.move({ x: 2 });
    await moved.until("delivered");
    assert.deepEqual(moved.status, { state: "confirmed", delivered: true });
    assert.equal(seen.at(-1), 2, "bob shows it by then");
    assert.equal(await placeOf(ann, "delivered"), 2);
  });

  test("is looked at beside the others without a wait, and what differs has a name", async () => {
    const [ann, bob] = [await open(), await open()];
    assert.throws(() => ann.peek((tx) => tx.items.get(["hall", "chair"]), { view: "delivered" }), {
      code: "not-held",
      message: /^row .*"hall".*"chair".* of table "items" is not held in the view delivered/,
    });
    const x = (view?: View) => ann.peek((tx) => tx.items.get(["hall", "chair"])?.x, view && { view });
    const stop = ann.pin((tx) => tx.items.get(["hall", "chair"]));
    await bob.read((tx) => tx.items.get(["hall", "chair"]));
    await until("the chair", () => {
      try {
        return x("confirmed") === 2;
      } catch {
        return false;
      }
    });
    assert.deepEqual(ann.difference("optimistic", "delivered"), []);
    let changes = 0;
    const stopHearing = ann.onViewsChange(() => (changes += 1));
    const number = ann.viewsNumber;
    const moved = ann.mutate.move({ x: 5 });
    assert.deepEqual([x(), x("confirmed"), x("delivered")], [5, 2, 2]);
    const differing = [{ table: "items", key: ["hall", "chair"], column: "x" }];
    assert.deepEqual(ann.difference("optimistic", "delivered", { table: "items" }), differing);
    assert.ok(ann.viewsNumber !== number && changes === 0);
    await ann.settled();
    assert.equal(changes, 1);
    await moved.until("delivered");
    assert.deepEqual([x("delivered"), ann.difference("optimistic", "delivered")], [5, []]);
    assert.throws(() => ann.difference("optimistic", "delivered", { table: "plain" }), /does not say `delivered`/);
    stop();
    stopHearing();
  });

  test("a peek runs a closure that only reads, once, and not inside another", async () => {
    const app = await open();
    await app.read((tx) => tx.items.get(["hall", "chair"]));
    let runs = 0;
    const at = app.peek((tx) => {
      runs += 1;
      return tx.items.has(["hall", "chair"]);
    });
    assert.deepEqual([at, runs], [true, 1]);
    const write = (tx: unknown) => (tx as WriteTransaction<typeof schema>).items.update(["hall", "chair"], { x: 9 });
    assert.throws(() => app.peek(write), { code: "transaction", message: /only reads/ });
    assert.throws(() => app.peek(() => app.mutate.move({ x: 9 })), { code: "call" });
    assert.throws(() => app.peek(() => app.peek(() => 1)), { code: "call" });
    await assert.rejects(app.read(() => app.peek(() => 1)), { code: "call" });
    assert.throws(() => app.peek(async () => 1), { code: "not-synchronous" });
    assert.throws(() => app.peek(() => assert.fail("mine")), /mine/);
    const kept = app.peek((tx) => ({ read: () => tx.items.has(["hall", "chair"]) }));
    assert.throws(kept.read, /has ended/);
    assert.equal(app.peek((tx) => tx.items.get(["hall", "chair"])?.x), 5, "nothing was written");
  });

  test("a tab that follows looks at what it holds", async () => {
    const device = new FakeDevice();
    const leader = await open(device);
    await until("the connection", () => leader.connection.status === "online");
    const follower = await open(device);
    await until("the leader", () => follower.connection.status === "online");
    assert.throws(() => follower.peek((tx) => tx.items.get(["hall", "chair"])), { code: "not-held" });
    const stop = follower.pin((tx) => tx.items.get(["hall", "chair"]));
    await follower.read((tx) => tx.items.get(["hall", "chair"]));
    assert.equal(follower.peek((tx) => tx.items.get(["hall", "chair"])?.x), 5);
    assert.deepEqual(follower.difference("optimistic", "confirmed"), []);
    const follows = { code: "not-held", message: /a tab that follows another one does not have this view/ };
    assert.throws(() => follower.peek((tx) => tx.items.get(["hall", "chair"]), { view: "delivered" }), follows);
    assert.throws(() => follower.difference("optimistic", "delivered"), follows);
    stop();
  });

  test("says where nobody is followed", async () => {
    const device = new FakeDevice();
    const leader = await open(device);
    await until("the connection", () => leader.connection.status === "online");
    const follower = await open(device);
    await until("the leader", () => follower.connection.status === "online");
    await assert.rejects(follower.mutate.move({ x: 3 }).until("delivered"), /a tab that follows another one/);
    await assert.rejects(
      leader.read((tx) => tx.plain.get("a"), { view: "delivered" }),
      /table "plain" does not say `delivered`/,
    );
  });
});
