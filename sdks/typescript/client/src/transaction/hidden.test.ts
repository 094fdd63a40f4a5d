/** Integers past 2^53 in columns of numbers. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { asId, defineMutators, defineSchema, IntegerRangeError, live, mutator, s, table } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";
import { areEqual, shared } from "./equality.js";
import { hide } from "./hidden.js";

const columns = {
  id: s.id(),
  title: s.string(),
  votes: s.counter(),
  size: s.int().default(0),
  owner: s.register(s.int()).default(0),
  steps: s.list(s.int()),
  tags: s.set(s.int()),
  meta: s.map(s.int()),
};
const wide = {
  ...columns,
  votes: s.counter64(),
  size: s.int64().default(0n),
  owner: s.register(s.int64()).default(0n),
  steps: s.list(s.int64()),
  tags: s.set(s.int64()),
  meta: s.map(s.int64()),
};
const [first, second, third] = ["1", "2", "3"].map((digit) => asId(digit.repeat(32))) as [never, never, never];
const LARGE = 2n ** 53n;

const writers = defineSchema({ rows: table(wide), hits: live(s.counter64()), marks: table({ at: s.int64(), text: s.string() }).key("at") });
const writes = defineMutators(writers, {
  fill: mutator((tx) => {
    for (const id of [first, second, third]) {
      tx.rows.insert({ id, title: `title ${id[0]}` });
    }
    const row = tx.rows.ref(second);
    row.votes.increment(LARGE);
    row.size.set(LARGE);
    row.owner.set(LARGE);
    row.steps.push(1n);
    row.steps.push(LARGE);
    row.tags.add(LARGE);
    row.meta.set("k", LARGE);
    tx.hits.ref("a").increment(1n);
    tx.hits.ref("b").increment(LARGE);
    tx.marks.insert({ at: 1n, text: "one" });
    tx.marks.insert({ at: LARGE, text: "large" });
  }),
});
const readers = defineSchema({ rows: table(columns), hits: live(s.counter()), marks: table({ at: s.int(), text: s.string() }).key("at") });
const reads = defineMutators(readers, { rename: mutator((tx, { title }: { title: string }) => tx.rows.update(third, { title })) });

describe("a cell that cannot be shown", () => {
  const stage = new NotesStage();

  test("takes neither its row nor its list along, whatever its type, and who takes it gets the error", async () => {
    const open = async (schema: object, mutators: object, user: string): Promise<never> =>
      (await stage.open(new FakeDevice(), { schema, mutators, user } as never)) as never;
    const writer = (await open(writers, writes, "ann")) as Awaited<ReturnType<typeof stage.open>> & { mutate: { fill(): { until(stage: string): Promise<void> } } };
    await writer.mutate.fill().until("confirmed");
    type Rows = readonly (Record<string, unknown> & { title: string })[];
    interface Tables {
      rows: { range(): Rows; get(id: unknown): Rows[0]; getAll(ids: unknown[]): Rows; where(asked: object): { all(): Rows; count(): number }; ref(id: unknown): Record<string, never> };
      hits: { range(): readonly { key: string; value: number }[]; get(key: string): number; getAll(keys: string[]): readonly number[] };
      marks: { range(): readonly { at: number; text: string }[] };
    }
    interface Reader {
      read<T>(closure: (tx: Tables) => T): Promise<T>;
      observe<T>(closure: (tx: Tables) => T): { readonly state: { readonly data: T | undefined } };
      mutate: { rename(args: { title: string }): { until(stage: string): Promise<void> } };
    }
    const reader: Reader = await open(readers, reads, "bob");
    const rows = await reader.read((tx) => tx.rows.range());
    assert.deepEqual(rows.map(({ title }) => title), ["title 1", "title 2", "title 3"]);
    const one = await reader.read((tx) => tx.rows.get(second));
    const found = await reader.read((tx) => tx.rows.where({ title: "title 2" }).all());
    for (const row of [rows[1], one, found[0], (await reader.read((tx) => tx.rows.getAll([first, second])))[1]]) {
      for (const column of ["votes", "size", "owner", "steps", "tags", "meta"]) {
        const named = (error: unknown): boolean => error instanceof IntegerRangeError && error.message.includes(`"${column}"`);
        assert.throws(() => row?.[column], named, column);
      }
      assert.equal(row?.title, "title 2");
      // A copy would lack a column.
      assert.throws(() => ({ ...row }), IntegerRangeError);
      assert.throws(() => JSON.stringify(row), IntegerRangeError);
      assert.throws(() => structuredClone(row), IntegerRangeError);
    }
    assert.equal(await reader.read((tx) => tx.rows.where({ title: { startsWith: "title" } }).count()), 3);
    const step = await reader.read((tx) => (tx.rows.ref(second)["steps"] as unknown as { at(index: number): number }).at(0));
    assert.equal(step, 1);
    await assert.rejects(reader.read((tx) => (tx.rows.ref(second)["votes"] as unknown as { get(): number }).get()), IntegerRangeError);

    const hits = await reader.read((tx) => tx.hits.range());
    assert.deepEqual([hits[0]?.value, hits[1]?.key], [1, "b"]);
    assert.throws(() => hits[1]?.value, IntegerRangeError);
    const all = await reader.read((tx) => tx.hits.getAll(["a", "b"]));
    assert.deepEqual([all.length, all[0]], [2, 1]);
    assert.throws(() => all[1], IntegerRangeError);
    await assert.rejects(reader.read((tx) => tx.hits.get("b")), IntegerRangeError);

    const marks = await reader.read((tx) => tx.marks.range());
    assert.deepEqual(marks.map(({ text }) => text), ["one", "large"]);
    assert.throws(() => marks[1]?.at, IntegerRangeError);

    // A change of another row leaves its object as it was.
    const observed = reader.observe((tx) => tx.rows.range());
    await until("the rows to be there", () => observed.state.data !== undefined);
    const before = observed.state.data;
    await reader.mutate.rename({ title: "renamed" }).until("confirmed");
    await until("the change to be shown", () => observed.state.data?.[2]?.title === "renamed");
    assert.equal(observed.state.data?.[1], before?.[1]);
  });
});

test("rows with hidden cells are compared by what is hidden", () => {
  const row = (title: string, failure: string): object => {
    const made = { title, votes: 0 };
    hide(made, "votes", failure);
    return made;
  };
  const [one, same] = [row("a", "integer-range\n1"), row("a", "integer-range\n1")];
  assert.ok(areEqual(one, same));
  assert.ok(!areEqual(one, row("b", "integer-range\n1")));
  assert.ok(!areEqual(one, row("a", "integer-range\n2")));
  assert.ok(!areEqual(one, { title: "a", votes: 1 }));
  assert.equal(shared(one, same), one);
  assert.deepEqual((shared([one], [same]) as unknown[])[0] === one, true);
  assert.notEqual(shared(one, row("a", "integer-range\n2")), one);
});
