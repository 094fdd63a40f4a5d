/**
 * Every reactive data type of the papers, each in a test of its name (Zhang 2017, Table 3.1; Lebeck 2020, Figure 2.1), as
 * sdks/rust/tests/sockets/data_types.rs has them. docs/protocols/operations.md says which of ours each of them is.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { defineMutators, defineSchema, s, table, type WriteTransaction } from "./index.js";
import { servedApps } from "./testing/servedApps.js";

const schema = defineSchema({
  records: table({
    key: s.string(),
    boolean: s.bool().default(false),
    long: s.int64().default(0n),
    string: s.string().default(""),
    counter: s.counter(),
    id: s.id().optional(),
    booleans: s.list(s.bool()),
    longs: s.list(s.int()),
    strings: s.list(s.string()),
    longSet: s.set(s.int()),
    stringSet: s.set(s.string()),
    hashTable: s.map(s.int()),
  }).key("key"),
});

type Tx = WriteTransaction<typeof schema>;

describe("data types", () => {
  const open = servedApps({ name: "data-types", schema, mutators: defineMutators(schema, {}) });

  /** What a transaction returns that took effect on a record of its own. */
  async function committed<T>(closure: (record: ReturnType<Tx["records"]["ref"]>, tx: Tx) => T): Promise<T> {
    return (await open()).transact((tx) => {
      const key = tx.newId();
      tx.records.insert({ key });
      return closure(tx.records.ref(key), tx);
    });
  }

  test("boolean", async () => {
    const seen = await committed(({ boolean }) => {
      const before = boolean.get();
      boolean.set(true);
      return [before, boolean.get()];
    });
    assert.deepEqual(seen, [false, true]);
  });

  test("long", async () => {
    const least = -(1n << 63n);
    const seen = await committed(({ long }) => {
      long.set(least);
      return long.get();
    });
    assert.equal(seen, least);
  });

  test("string", async () => {
    const seen = await committed(({ string }) => {
      string.set("gem");
      return string.get();
    });
    assert.equal(seen, "gem");
  });

  test("counter", async () => {
    const seen = await committed(({ counter }) => {
      counter.increment(5);
      counter.set(40);
      counter.increment(3);
      counter.decrement();
      return counter.get();
    });
    assert.equal(seen, 42);
  });

  /** `GetUID` of Zhang's generator needs no record: `newId`. `Generate` and `Value` of Lebeck's type do. */
  test("id generator", async () => {
    const { made, value } = await committed(({ id }, tx) => {
      const made = [tx.newId(), id.generate(), id.generate()];
      return { made, value: id.get() };
    });
    assert.equal(new Set(made).size, 3);
    assert.equal(value, made.at(-1));
  });

  test("boolean list", async () => {
    const seen = await committed(({ booleans }) => {
      booleans.push(false);
      booleans.push(false);
      booleans.set(1, true);
      return [booleans.at(1), booleans.at(2)];
    });
    assert.deepEqual(seen, [true, undefined]);
  });

  test("long list", async () => {
    const seen = await committed(({ longs }) => {
      [3, 1, 2, 4].forEach((element) => longs.push(element));
      longs.set(0, 9);
      return [longs.get(), longs.slice(1, 3), longs.length];
    });
    assert.deepEqual(seen, [[9, 1, 2, 4], [1, 2], 4], "in the order of the appends");
  });

  test("string list", async () => {
    const seen = await committed(({ strings }) => {
      strings.push("b");
      strings.push("a");
      strings.set(0, "c");
      return strings.slice(0, 9);
    });
    assert.deepEqual(seen, ["c", "a"]);
  });

  test("long set", async () => {
    const seen = await committed(({ longSet }) => {
      [30, 4, 4, -1].forEach((member) => longSet.add(member));
      longSet.delete(30);
      return [longSet.at(0), longSet.has(4), [...longSet.get()], longSet.size];
    });
    assert.deepEqual(seen, [-1, true, [-1, 4], 2], "in the order of numbers");
  });

  test("string set", async () => {
    const seen = await committed(({ stringSet }) => {
      ["ben", "ada", "ada"].forEach((member) => stringSet.add(member));
      return [stringSet.at(1), stringSet.at(2)];
    });
    assert.deepEqual(seen, ["ben", undefined], "in the order of texts");
  });

  test("hash table", async () => {
    const seen = await committed(({ hashTable }) => {
      hashTable.set("a", 1);
      hashTable.set("a", 2);
      hashTable.set("b", 3);
      hashTable.delete("b");
      return [hashTable.get("a"), hashTable.get("b"), hashTable.has("b"), [...hashTable.get()]];
    });
    assert.deepEqual(seen, [2, undefined, false, [["a", 2]]]);
  });
});
