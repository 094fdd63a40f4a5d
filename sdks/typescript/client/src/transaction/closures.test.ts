import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Abort, asId, type ClientOf, IntegerRangeError, type MutationError, newId, TransactionError } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";

type App = ClientOf<typeof mutators>;

describe("closures", () => {
  let server: DevServer;
  let app: App;
  const printed: unknown[][] = [];
  const { error: printError } = console;

  before(async () => {
    server = await startDevServer();
    const { url, token } = server;
    app = await new FakeDevice().openTab({ url, token, name: "notes", user: "ann", schema, mutators });
    await until("the connection", () => app.connection.status === "online");
    console.error = (...parts) => void printed.push(parts);
  });
  after(async () => {
    console.error = printError;
    await app.close();
    await server.stop();
  });

  test("that return a promise are refused, also anonymous ones and reactive ones", async () => {
    const wait = app.mutate.wait();
    await assert.rejects(wait.until("durable"), (error: MutationError) => {
      assert.equal((error.cause as { code?: string }).code, "not-synchronous");
      return error.code === "cancelled";
    });
    await assert.rejects(app.transact(() => Promise.reject(new Error("never unhandled"))), { code: "not-synchronous" });
    await assert.rejects(app.read(async (tx) => tx.hits.range()), { code: "not-synchronous" });
    assert.match(String(printed.at(0)?.[0]), /mutation wait failed/);
  });

  test("may return what holds itself, which is new after each run", async () => {
    interface Tree {
      readonly hits: number;
      self?: Tree;
    }
    const seen: (Tree | undefined)[] = [];
    const grow = (tx: { readonly hits: { get(page: string): number | undefined } }): Tree => {
      const tree: Tree = { hits: tx.hits.get("cyclic") ?? 0 };
      return Object.assign(tree, { self: tree });
    };
    app.react(grow, {}, ({ data }) => seen.push(data));
    await app.mutate.hit({ page: "cyclic" }).until("confirmed");
    await until("the hit", () => seen.at(-1)?.self?.self?.hits === 1);
    assert.equal(app.connection.role, "leader");
  });

  test("may throw anything", async () => {
    const message = Object.defineProperty(new Error(), "message", { value: 7 });
    for (const thrown of [undefined, Symbol("mine"), Object.create(null), message, new Abort(undefined as never)] as unknown[]) {
      await assert.rejects(app.read(() => {
        throw thrown;
      }));
    }
    await app.mutate.hit({ page: "afterwards" }).until("confirmed");
  });

  test("that use another source of chance or time than their transaction are found", async () => {
    for (const handle of [app.mutate.roll(), app.mutate.stamp()]) {
      await assert.rejects(handle.until("durable"), ({ cause }: MutationError) => {
        return (cause as { code?: string }).code === "not-repeatable";
      });
    }
    await assert.rejects(app.read(() => Math.random()), { code: "not-repeatable" });
    await assert.rejects(app.read(() => ({ at: new Date() })), { code: "not-repeatable" });
    await app.mutate.drawFairly().until("confirmed");
  });

  test("cannot swallow the signal that data is missing", async () => {
    const swallowed = await app.read((tx) => {
      try {
        return tx.hits.get("swallow");
      } catch {
        return "swallowed";
      }
    });
    assert.equal(swallowed, 0);
  });

  test("that make many rows wait for nothing, and those that write many they know nothing of have all looked at in one round", async () => {
    const ids = Array.from({ length: 200 }, () => newId());
    let runs = 0;
    await app.transact((tx) => {
      runs += 1;
      ids.forEach((id) => tx.notes.insert({ id, title: "one of many" }));
    });
    assert.equal(runs, 2, "two, as in development");
    const { url, token } = server;
    const other = await new FakeDevice().openTab({ url, token, name: "notes", user: "bob", schema, mutators });
    runs = 0;
    await until("a connection", () => other.connection.status === "online");
    await other.transact((tx) => {
      runs += 1;
      ids.forEach((id) => tx.notes.ref(id).votes.increment());
    });
    assert.equal(runs, 3, "one that was stopped, and in development two that were whole");
    const rows = await other.read((tx) => tx.notes.getAll([...ids, asId("0".repeat(32))]));
    assert.deepEqual(rows.map((row) => row?.votes), [...ids.map(() => 1), undefined]);
    await other.close();
  });

  test("that write into a row that they read are told so in development", async () => {
    const id = newId();
    await app.mutate.addNote({ id, title: "read" }).until("confirmed");
    const writing = app.transact((tx) => {
      (tx.notes.get(id) as { title: string }).title = "written";
    });
    await assert.rejects(writing, /read only property 'title'/);
  });

  test("are told which value does not fit a column", async () => {
    const wrong = app.transact((tx) => tx.notes.insert({ id: newId(), title: 5 as never }));
    await assert.rejects(wrong, { message: 'table "notes", column "title": it is a column of type string, and 5 was given' });
  });

  test("that never stop missing data end with an error", async () => {
    await assert.rejects(app.read((tx) => tx.notes.get(newId())), /stopped again and again/);
  });

  test("read members and elements by their places, from the end too", async () => {
    const id = newId();
    await app.mutate.addNote({ id, title: "places" }).until("confirmed");
    const seen = await app.transact((tx) => {
      const { tags, log, votes } = tx.notes.ref(id);
      ["pear", "apple", "fig"].forEach((tag) => tags.add(tag));
      [5, 6, 7, 8].forEach((entry) => log.push(entry));
      votes.increment(3);
      votes.set(40);
      votes.increment(2);
      return {
        tags: [tags.at(0), tags.at(2), tags.at(3), tags.at(-1)],
        log: [log.at(1), log.at(-1), log.slice(1, 3), log.slice(-2), log.slice(2), log.slice(3, 9)],
        votes: votes.get(),
      };
    });
    assert.deepEqual(seen, {
      tags: ["apple", "pear", undefined, "pear"],
      log: [6, 8, [6, 7], [7, 8], [7, 8], [8]],
      votes: 42,
    });
  });

  test("that only read cannot write", async () => {
    const writing = app.read((tx) => (tx.hits.ref("home") as unknown as { increment(): void }).increment());
    await assert.rejects(writing, (error) => error instanceof TransactionError && /only reads/.test(error.message));
  });

  test("cannot use their transaction once they have ended", async () => {
    const kept = await app.read((tx) => ({ read: () => tx.hits.range() }));
    assert.throws(kept.read, /has ended/);
  });

  test("cannot call a mutation", async () => {
    await assert.rejects(app.read(() => app.mutate.hit({ page: "nested" }).id), { code: "call" });
  });

  test("get an error that names the column for a number that is no exact integer", async () => {
    const id = newId();
    await app.mutate.addNote({ id, title: "numbers" }).until("confirmed");
    for (const size of [2 ** 53, -(2 ** 60)]) {
      await assert.rejects(app.mutate.setSize({ id, size }).until("durable"), ({ cause }: MutationError) => {
        assert.match((cause as Error).message, /table "notes", column "size".*s\.int64\(\)/);
        return cause instanceof IntegerRangeError && cause instanceof RangeError;
      });
    }
    await assert.rejects(app.mutate.setSize({ id, size: 0.5 }).until("durable"), /column "size".*type int/);
    await app.mutate.setSize({ id, size: Number.MAX_SAFE_INTEGER }).until("confirmed");
    assert.equal(await app.read((tx) => tx.notes.ref(id).size.get()), Number.MAX_SAFE_INTEGER);
  });

  test("get an error for a total that a number cannot hold, and no rounded one", async () => {
    for (const by of [Number.MAX_SAFE_INTEGER, 1]) {
      await app.mutate.countTo({ page: "full", by }).until("confirmed");
    }
    await assert.rejects(app.read((tx) => tx.hits.get("full")), IntegerRangeError);
  });

  test("get an error for NaN, for a missing row, for a row that is there", async () => {
    const id = newId();
    await app.mutate.addNote({ id, title: "errors" }).until("confirmed");
    const failing: [Promise<unknown>, RegExp][] = [
      [app.transact((tx) => tx.notes.update(id, { ratio: NaN })), /NaN/],
      [app.transact((tx) => tx.notes.update(asId("0".repeat(32)), { size: 1 })), /no row/],
      [app.transact((tx) => tx.notes.insert({ id, title: "again" })), /already has a row/],
      [app.transact((tx) => tx.notes.update(id, { title: 5 as never })), /column "title".*type string/],
      [app.transact((tx) => tx.notes.update(id, { titel: "x" } as never)), /no column "titel"/],
      [app.transact((tx) => tx.notes.ref(id).log.set(3, 1)), /none at index 3/],
    ];
    for (const [promise, message] of failing) {
      await assert.rejects(promise, message);
    }
  });
});
