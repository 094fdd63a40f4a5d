import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type ClientOf, defineMutators, defineSchema, live, mutator, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";

const schema = defineSchema({
  cents: table({ id: s.int(), amount: s.int() }),
  hits: live(s.counter()),
});

const mutators = defineMutators(schema, {
  add: mutator((tx, { from, count }: { from: number; count: number }) => {
    for (let id = from; id < from + count; id += 1) {
      tx.cents.insert({ id, amount: 1 });
    }
  }),
  put: mutator((tx, { id, amount }: { id: number; amount: number }) => tx.cents.update(id, { amount })),
  hit: mutator((tx, { page }: { page: string }) => tx.hits.ref(page).increment()),
});

type App = ClientOf<typeof mutators>;

describe("reactions", () => {
  const open = servedApps({ name: "reactions", schema, mutators });

  /** Counts the runs of a closure that reads a cell, and what its listener heard. */
  async function counting(app: App, page: string) {
    await app.read((tx) => tx.hits.get(page));
    const counts = { runs: 0, heard: [] as (number | undefined)[] };
    const observation = app.observe((tx) => {
      counts.runs += 1;
      return tx.hits.get(page);
    });
    observation.onChange(({ data }) => counts.heard.push(data));
    // The first result is told.
    await app.settled();
    counts.heard = [];
    // In development each run is repeated.
    const aRun = counts.runs;
    counts.runs = 0;
    return { observation, counts, runs: () => counts.runs / aRun };
  }

  test("over many rows do not run inside a call, and once for all calls of a turn", async () => {
    const app = await open();
    for (let from = 0; from < 10_000; from += 1000) {
      await app.mutate.add({ from, count: 1000 }).until("confirmed");
    }
    const sum = (rows: readonly { amount: number }[]): number => rows.reduce((total, { amount }) => total + amount, 0);
    await app.read((tx) => tx.cents.range().length);
    let runs = 0;
    const observation = app.observe((tx) => {
      runs += 1;
      return sum(tx.cents.range());
    });
    const aRun = runs;
    assert.deepEqual([observation.state.data, aRun > 0], [10_000, true], "its first result is there at once");
    for (const id of [1, 2, 3]) {
      app.mutate.put({ id, amount: 2 });
      assert.equal(app.peek((tx) => tx.cents.get(id)?.amount), 2, "the call itself shows at once");
    }
    assert.equal(runs, aRun, "no run inside of the calls");
    await app.settled();
    assert.deepEqual([observation.state.data, runs], [10_003, 2 * aRun]);
    observation.stop();
  });

  test("go on after a closure that only looks has asked to settle", async () => {
    const device = new FakeDevice();
    device.frames = [];
    const app = await open(device);
    const { counts } = await counting(app, "peek");
    device.drawFrame();
    app.peek(() => void app.settled().catch(() => undefined));
    app.mutate.hit({ page: "peek" });
    device.drawFrame();
    assert.deepEqual(counts.heard, [1]);
  });

  test("begin with a result that has what was called in the same turn, and run no other one for that", async () => {
    const app = await open();
    const first = await counting(app, "begin");
    app.mutate.hit({ page: "begin" });
    const second = app.observe((tx) => tx.hits.get("begin"));
    assert.deepEqual([second.state.data, first.observation.state.data, first.runs()], [1, 0, 0]);
    assert.equal(app.live.hits("begin").value, 1);
    assert.equal(await app.read((tx) => tx.hits.get("begin")), 1);
    await app.settled();
    assert.deepEqual([first.counts.heard, first.runs()], [[1], 1]);
  });

  test("run at most once for each frame, whatever comes in between", async () => {
    const device = new FakeDevice();
    device.frames = [];
    const [app, other] = [await open(device), await open()];
    const { counts, runs } = await counting(app, "frame");
    device.drawFrame();
    app.mutate.hit({ page: "frame" });
    await app.mutate.hit({ page: "frame" }).until("confirmed");
    await other.mutate.hit({ page: "frame" }).until("confirmed");
    await until("what the other one wrote", () => app.peek((tx) => tx.hits.get("frame"), { view: "confirmed" }) === 3);
    assert.deepEqual([counts.heard, device.frames.length], [[], 1]);
    device.drawFrame();
    assert.deepEqual([counts.heard, runs()], [[3], 1]);
    device.drawFrame();
    assert.deepEqual([device.frames.length, runs()], [0, 1], "without news there is no frame");
    assert.equal(await app.read((tx) => tx.hits.get("elsewhere")), 0, "what waits for its data does not wait for a frame");
  });

  test("that a callback makes due run in the next turn, and settled waits for none of the server's", async () => {
    const app = await open();
    const { observation, counts } = await counting(app, "chain");
    app.goOffline();
    let hits = 0;
    observation.onChange(() => {
      if (hits < 2) {
        hits += 1;
        app.mutate.hit({ page: "chain" });
      }
    });
    app.mutate.hit({ page: "chain" });
    await app.settled();
    await until("all of them", () => counts.heard.at(-1) === 3);
    assert.deepEqual(counts.heard, [1, 2, 3]);
  });

  test("of a tab that follows do not run inside its calls, and settled waits until it shows them", async () => {
    const device = new FakeDevice();
    const [, follows] = [await open(device), await open(device)];
    const { observation, counts, runs } = await counting(follows, "follower");
    for (let round = 1; round <= 20; round += 1) {
      const before = counts.runs;
      follows.mutate.hit({ page: "follower" });
      assert.equal(counts.runs, before);
      await follows.settled();
      assert.equal(observation.state.data, round);
    }
    assert.ok(runs() >= 20);
  });

  test("of a client that is closed run no more", async () => {
    const device = new FakeDevice();
    device.frames = [];
    const app = await open(device);
    const { counts, runs } = await counting(app, "closed");
    app.mutate.hit({ page: "closed" });
    await app.close();
    device.drawFrame();
    assert.deepEqual([runs(), counts.heard], [0, []]);
    await assert.rejects(app.settled(), { code: "closed" });
  });

  test("settled rejects when the client is closed while another tab has to answer", async () => {
    const device = new FakeDevice();
    const [, follows] = [await open(device), await open(device)];
    device.deafTabs = true;
    follows.mutate.hit({ page: "unheard" });
    const settled = follows.settled();
    await follows.close();
    await assert.rejects(settled, { code: "closed" });
    device.deafTabs = false;
  });
});
