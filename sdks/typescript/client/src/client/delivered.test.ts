import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { type ClientOf, defineMutators, defineSchema, mutator, s, table } from "../index.js";
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
