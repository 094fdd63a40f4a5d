import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Abort, defineMutators, defineSchema, mutator, type RowOf, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";
import type { ReadTransaction } from "./types.js";

const schema = defineSchema({
  tasks: table({
    id: s.int(),
    owner: s.string(),
    created: s.int(),
    done: s.bool().default(false),
    votes: s.counter(),
    helpers: s.set(s.string()),
    weight: s.float().default(0),
  }).index("byOwner", ["owner", "created"]),
});

const mutators = defineMutators(schema, {
  add: mutator((tx, args: { id: number; owner: string; created: number; weight?: number }) => tx.tasks.insert(args)),
  finish: mutator((tx, { id }: { id: number }) => tx.tasks.update(id, { done: true })),
  remove: mutator((tx, { id }: { id: number }) => tx.tasks.delete(id)),
  help: mutator((tx, { id, helper }: { id: number; helper: string }) => tx.tasks.ref(id).helpers.add(helper)),
  takeOn: mutator((tx, task: { id: number; owner: string; created: number }) => {
    if (tx.tasks.where({ owner: task.owner, done: false }).count() >= 2) {
      throw new Abort("enough to do");
    }
    tx.tasks.insert(task);
  }),
  give: mutator((tx, { id, owner }: { id: number; owner: string }) => tx.tasks.update(id, { owner })),
});

type Task = RowOf<(typeof schema.tables)["tasks"]>;

function page(tx: ReadTransaction<typeof schema>, direction: "asc" | "desc", after: Task | undefined): readonly Task[] {
  return tx.tasks
    .where({ owner: "cam", created: { gte: 1 } })
    .orderBy("created", direction)
    .after(after)
    .limit(2)
    .all();
}

describe("queries that a server answers", () => {
  const open = servedApps({ name: "queries", schema, mutators });

  test("follow what others do to their rows, in a tab that follows too", async () => {
    const writer = await open();
    for (const id of [1, 2, 3, 4]) {
      await writer.mutate.add({ id, owner: "ann", created: id * 10 }).until("confirmed");
    }
    const device = new FakeDevice();
    const tabs = [await open(device), await open(device)];
    const observations = tabs.map((tab) =>
      tab.observe((tx) =>
        tx.tasks
          .where({ owner: "ann", done: false })
          .orderBy("created", "desc")
          .limit(2)
          .all()
          .map((task) => task.id),
      ),
    );
    const become = async (expected: number[]): Promise<void> => {
      for (const observation of observations) {
        await until(`${expected}`, () => JSON.stringify(observation.state.data) === JSON.stringify(expected));
      }
    };
    await become([4, 3]);
    await writer.mutate.finish({ id: 4 }).until("confirmed");
    await become([3, 2]);
    await writer.mutate.add({ id: 5, owner: "ben", created: 50 }).until("confirmed");
    await writer.mutate.give({ id: 5, owner: "ann" }).until("confirmed");
    await become([5, 3]);
    // A change of one's own shows before the server knows of it.
    tabs[0]?.goOffline();
    tabs[0]?.mutate.finish({ id: 5 });
    await become([3, 2]);
    tabs[0]?.goOnline();
    assert.equal(await writer.read((tx) => tx.tasks.where({ created: { gt: 15, lte: 40 } }).count()), 3);
    observations.forEach((observation) => observation.stop());
  });

  test("hold a row for as long as one of their alternatives does", async () => {
    const [writer, reader] = [await open(), await open()];
    for (const [id, owner] of [[31, "eve"], [32, "fay"], [33, "gus"]] as const) {
      await writer.mutate.add({ id, owner, created: id }).until("confirmed");
    }
    const shown = reader.observe((tx) =>
      tx.tasks
        .where({ done: false })
        .whereAny({ owner: "eve" }, { helpers: { contains: "eve" }, created: { gte: 30, lt: 40 } })
        .orderBy("id")
        .all()
        .map(({ id }) => id),
    );
    const become = (ids: string): Promise<void> => until(ids, () => JSON.stringify(shown.state.data) === ids);
    await become("[31]");
    await writer.mutate.help({ id: 32, helper: "eve" }).until("confirmed");
    await writer.mutate.help({ id: 31, helper: "eve" }).until("confirmed");
    await become("[31,32]");
    await writer.mutate.give({ id: 33, owner: "eve" }).until("confirmed");
    await writer.mutate.give({ id: 31, owner: "fay" }).until("confirmed");
    await become("[31,32,33]");
    await writer.mutate.give({ id: 33, owner: "gus" }).until("confirmed");
    await become("[31,32]");
    await writer.mutate.finish({ id: 32 }).until("confirmed");
    await become("[31]");
    assert.equal(await reader.read((tx) => tx.tasks.where({ owner: "gus" }).whereAny().count()), 0);
    shown.stop();
  });

  test("are what a rule can rest on, whoever else inserts at the same time", async () => {
    const [one, other] = [await open(), await open()];
    await one.mutate.takeOn({ id: 41, owner: "hal", created: 1 }).until("confirmed");
    const ofHal = (tx: ReadTransaction<typeof schema>) => tx.tasks.where({ owner: "hal", done: false }).all().map(({ id }) => id);
    const shown = [one, other].map((app) => app.observe(ofHal));
    await until("both hold the answer", () => shown.every(({ state }) => JSON.stringify(state.data) === "[41]"));
    [one, other].forEach((app) => app.goOffline());
    const calls = [one.mutate.takeOn({ id: 42, owner: "hal", created: 2 }), other.mutate.takeOn({ id: 43, owner: "hal", created: 3 })];
    await until("each sees its own", () => JSON.stringify(shown.map(({ state }) => state.data)) === "[[41,42],[41,43]]");
    [one, other].forEach((app) => app.goOnline());
    const ends = await Promise.allSettled(calls.map((call) => call.until("confirmed")));
    assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const refused = ends.find((end) => end.status === "rejected");
    assert.match(String(refused?.reason), /enough to do/);
    await until("both see the same two", () => new Set(shown.map(({ state }) => JSON.stringify(state.data))).size === 1);
    assert.equal(shown[0]?.state.data?.length, 2);
    shown.forEach((own) => own.stop());
  });

  test("of some values answer in the order of the index, however far these lie apart", async () => {
    const app = await open();
    for (const [id, owner] of [[51, "ivy"], [52, "jim"], [53, "kay"], [54, "lou"], [55, "kay"]] as const) {
      await app.mutate.add({ id, owner, created: -id }).until("confirmed");
    }
    const found = (tx: ReadTransaction<typeof schema>, limit: number) =>
      tx.tasks.where({ owner: { in: ["lou", "ivy", "kay"] } }).orderBy("owner").orderBy("created").limit(limit).all().map(({ id }) => id);
    assert.deepEqual(await app.read((tx) => found(tx, 9)), [51, 55, 53, 54]);
    assert.deepEqual(await app.read((tx) => found(tx, 2)), [51, 55]);
    assert.deepEqual(await app.read((tx) => tx.tasks.where({ id: { in: [54, 52, 99] } }).all().map(({ id }) => id)), [52, 54]);
  });

  test("find a float by its last digit", async () => {
    const app = await open();
    const weight = 31.245270191439438;
    await app.mutate.add({ id: 11, owner: "dan", created: 1, weight }).until("confirmed");
    assert.equal(await app.read((tx) => tx.tasks.where({ weight }).count()), 1);
  });

  test("come in pages that hold each row once though many tie, and that stay where they began", async () => {
    const [writer, reader] = [await open(), await open()];
    const tasks = [[21, 0], [22, 1], [23, 1], [24, 1], [25, 1], [26, 2], [27, 2]] as const;
    for (const [id, created] of tasks) {
      await writer.mutate.add({ id, owner: "cam", created }).until("confirmed");
    }
    let second: Task | undefined;
    for (const direction of ["asc", "desc"] as const) {
      const pages: number[][] = [];
      let last: Task | undefined;
      do {
        const rows = await reader.read((tx) => page(tx, direction, last));
        pages.push(rows.map(({ id }) => id));
        last = rows.at(-1);
        second ??= last;
      } while (last !== undefined);
      assert.deepEqual(pages, direction === "asc" ? [[22, 23], [24, 25], [26, 27], []] : [[27, 26], [25, 24], [23, 22], []]);
    }
    const shown = reader.observe((tx) => page(tx, "asc", second).map(({ id }) => id));
    const become = (ids: string): Promise<void> => until(ids, () => JSON.stringify(shown.state.data) === ids);
    await become("[24,25]");
    // The row before the page goes, another one comes in its place, and neither is seen; one that comes after it is.
    await writer.mutate.remove({ id: 23 }).until("confirmed");
    await writer.mutate.add({ id: 20, owner: "cam", created: 1 }).until("confirmed");
    await writer.mutate.remove({ id: 24 }).until("confirmed");
    await become("[25,26]");
    shown.stop();
    const { created, owner } = second ?? assert.fail();
    await assert.rejects(reader.read((tx) => page(tx, "asc", { id: 23, owner } as Task)), { name: "TransactionError", message: /"created"/ });
    assert.equal(created, 1);
  });
});
