import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { Abort, asId, type ClientOf, type ClientOptions, IoliteError, MutationError, newId } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";
import type { SettledMutation } from "./types.js";

type App = ClientOf<typeof mutators>;

describe("a client of a real server", () => {
  let server: DevServer;
  let options: ClientOptions<typeof schema, (typeof mutators)["byName"]> & { readonly token: string };
  const clients: App[] = [];

  before(async () => {
    server = await startDevServer();
    options = { url: server.url, token: server.token, name: "notes", user: "ann", schema, mutators };
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
  });

  async function open(device = new FakeDevice()): Promise<App> {
    const client = await device.openTab(options);
    clients.push(client);
    return client;
  }

  test("brings every column type to another client", async () => {
    const [ann, bob] = [await open(), await open()];
    const id = newId();
    await ann.mutate.addNote({ id, title: "one" }).until("confirmed");
    const begun = await bob.read((tx) => tx.notes.get(id), { view: "confirmed" });
    assert.deepEqual(begun, {
      id,
      title: "one",
      size: 3,
      big: null,
      ratio: null,
      done: false,
      picture: null,
      votes: 0,
      tags: new Set(),
      log: [],
      meta: new Map(),
      owner: null,
    });
    await ann.mutate.fill({ id }).until("confirmed");
    let seen: { readonly size: number } | undefined;
    bob.react((tx) => tx.notes.get(id), {}, ({ data }) => (seen = data));
    await until("the filled note", () => seen?.size === 4);
    assert.deepEqual(seen, {
      id,
      title: "one",
      size: 4,
      big: 1n << 62n,
      ratio: 0.5,
      done: true,
      picture: Uint8Array.of(1, 2),
      votes: 4,
      tags: new Set(["b"]),
      log: [7, 2],
      meta: new Map([["k", "v"]]),
      owner: "me",
    });
  });

  test("reads single cells, members, entries and elements", async () => {
    const ann = await open();
    const id = newId();
    await ann.mutate.addNote({ id, title: "cells" }).until("confirmed");
    await ann.mutate.fill({ id }).until("confirmed");
    const cells = await ann.read((tx) => {
      const { tags, log, meta, votes, owner, size, big } = tx.notes.ref(id);
      return [
        [tags.has("a"), tags.has("b"), tags.size, [...tags.get()]],
        [log.at(0), log.at(9), log.length, log.toArray()],
        [meta.get("k"), meta.get("gone"), meta.has("k"), [...meta.get()]],
        [votes.get(), owner.get(), size.get(), big.get()],
        [tx.notes.has(id), tx.notes.has(newIdIn(id))],
      ];
    });
    assert.deepEqual(cells, [
      [false, true, 1, ["b"]],
      [7, undefined, 2, [7, 2]],
      ["v", undefined, true, [["k", "v"]]],
      [4, "me", 4, 1n << 62n],
      [true, false],
    ]);
  });

  test("reads ranges of a composite key in its order", async () => {
    const ann = await open();
    for (const [room, at] of [["kitchen", 2], ["kitchen", 10], ["attic", 1], ["kitchen", -3]] as const) {
      await ann.mutate.say({ room, at, text: `${room} ${at}` }).until("confirmed");
    }
    const texts = (rows: readonly { readonly text: string }[]): string[] => rows.map(({ text }) => text);
    const ranges = await ann.read((tx) => [
      texts(tx.messages.range()),
      texts(tx.messages.range({ prefix: ["kitchen"], limit: 2, reverse: true })),
      texts(tx.messages.range({ from: ["kitchen", 2], to: ["kitchen", 10] })),
      texts(tx.messages.range({ to: ["kitchen"] })),
      texts(tx.messages.range({ prefix: ["kitchen"], after: ["kitchen", -3], limit: 1 })),
      texts(tx.messages.range({ prefix: ["kitchen"], to: ["kitchen", 10], reverse: true })),
      texts(tx.messages.range({ after: ["attic"], from: ["kitchen", 2] })),
      texts(tx.messages.range({ prefix: ["attic"], after: ["kitchen"] })),
      texts(tx.messages.range({ after: ["kitchen"] })),
    ]);
    assert.deepEqual(ranges, [
      ["attic 1", "kitchen -3", "kitchen 2", "kitchen 10"],
      ["kitchen 10", "kitchen 2"],
      ["kitchen 2"],
      ["attic 1"],
      ["kitchen 2"],
      ["kitchen 2", "kitchen -3"],
      ["kitchen 2", "kitchen 10"],
      [],
      [],
    ]);
  });

  test("shows a mutation at once, says how far it is, and tells when it ended", async () => {
    const ann = await open();
    const settled: SettledMutation[] = [];
    ann.onMutationSettled((mutation) => settled.push(mutation));
    await ann.read((tx) => tx.hits.get("now"));
    const seen: (number | undefined)[] = [];
    ann.react((tx) => tx.hits.get("now"), {}, ({ data }) => seen.push(data));
    const hit = ann.mutate.hit({ page: "now" });
    assert.equal(ann.peek((tx) => tx.hits.get("now")), 1, "the optimistic view has it before the call returns");
    assert.deepEqual(seen, [0], "and reactions run behind it");
    await ann.settled();
    assert.deepEqual(seen, [0, 1]);
    assert.deepEqual(ann.pending.map(({ id, name, args }) => ({ id, name, args })), [
      { id: hit.id, name: "hit", args: { page: "now" } },
    ]);
    assert.equal(ann.pending, ann.pending, "the list keeps its identity while it is the same");
    await hit.until("durable");
    await hit.until("confirmed");
    assert.deepEqual(hit.status, { state: "confirmed" });
    assert.deepEqual([ann.pending, settled], [[], [
      { id: hit.id, name: "hit", args: { page: "now" }, status: { state: "confirmed" } },
    ]]);
  });

  test("rejects with the reason of Abort, keeps the arguments, and forgets them when told", async () => {
    const ann = await open();
    await ann.mutate.hit({ page: "throne" }).until("confirmed");
    const claim = ann.mutate.claim({ page: "throne" });
    await assert.rejects(claim.until("confirmed"), (error: MutationError) => {
      assert.deepEqual([error.code, error.reason], ["rejected", "throne is taken"]);
      return error instanceof MutationError;
    });
    assert.deepEqual(claim.status, { state: "rejected", reason: "throne is taken" });
    const [refused] = ann.refused;
    assert.deepEqual(
      [refused?.id, refused?.name, refused?.args, refused?.reason, refused?.byApp],
      [claim.id, "claim", { page: "throne" }, "throne is taken", true],
    );
    ann.dismiss(claim.id);
    assert.deepEqual(ann.refused, []);
  });

  test("takes back what was not sent, and what was taken back has no effect", async () => {
    const device = new FakeDevice();
    const ann = await open(device);
    await ann.read((tx) => tx.hits.get("back"));
    ann.goOffline();
    assert.deepEqual([ann.connection.status, ann.connection.paused], ["offline", true]);
    const hit = ann.mutate.hit({ page: "back" });
    assert.equal(hit.cancel(), true);
    await assert.rejects(hit.until("durable"), { code: "cancelled" });
    ann.goOnline();
    await until("the connection", () => ann.connection.status === "online");
    assert.equal(await ann.read((tx) => tx.hits.get("back")), 0);
  });

  test("begins offline when it is asked to, and connects when it is told", async () => {
    const device = new FakeDevice();
    const ann: App = await device.openTab({ ...options, paused: true });
    clients.push(ann);
    device.wake();
    const hit = ann.mutate.hit({ page: "paused" });
    await hit.until("durable");
    assert.deepEqual([ann.connection.paused, ann.connection.status, device.attempts], [true, "offline", 0]);
    ann.goOnline();
    await hit.until("confirmed");
    assert.equal(ann.connection.paused, false);
  });

  test("runs closures without a name while online, and gives their result", async () => {
    const ann = await open();
    await until("the connection", () => ann.connection.status === "online");
    const result = await ann.transact((tx) => {
      tx.hits.ref("closure").increment(2);
      return { hits: tx.hits.get("closure") };
    });
    assert.deepEqual(result, { hits: 2 });
    await assert.rejects(
      ann.transact(() => {
        throw new Abort("no");
      }),
      { code: "rejected", reason: "no" },
    );
    await assert.rejects(
      ann.transact((tx) => tx.notes.delete(asId("0".repeat(32)))),
      { name: "TransactionError" },
    );
    ann.goOffline();
    await assert.rejects(ann.transact((tx) => tx.hits.range()), { code: "offline" });
  });

  test("gives each of many closures in conflict what its run returned that took effect", async () => {
    const apps = await Promise.all([open(), open(), open()]);
    await Promise.all(apps.map((app) => until("the connection", () => app.connection.status === "online")));
    const seen: number[] = [];
    const take = async (app: App): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) {
        seen.push(
          await app.transact((tx) => {
            const number = tx.hits.get("ticket") ?? 0;
            tx.hits.ref("ticket").increment();
            return number;
          }),
        );
      }
    };
    await Promise.all(apps.map(take));
    assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 15 }, (_, number) => number));
  });

  test("says that data is unavailable instead of waiting without a connection, and brings it when there is one", async () => {
    const device = new FakeDevice();
    device.cut = true;
    const ann = await open(device);
    await until("a failed try", () => device.attempts > 0 && ann.connection.status === "offline");
    const states: string[] = [];
    ann.react((tx) => tx.hits.get("far"), {}, ({ status }) => states.push(status));
    await until("the answer", () => states.at(-1) === "unavailable");
    await assert.rejects(ann.read((tx) => tx.hits.get("far")), { code: "unavailable" });
    const note = ann.mutate.claim({ page: "far" });
    await assert.rejects(note.until("durable"), { code: "cancelled" });
    device.cut = false;
    ann.goOnline();
    await until("the data", () => states.at(-1) === "ready");
  });

  test("makes rows without a connection, and what follows reads and changes them, in every tab", async () => {
    const device = new FakeDevice();
    const [ann, other] = [await open(device), await open(device)];
    device.cut = true;
    const id = newId();
    ann.mutate.addNote({ id, title: "made offline" });
    const changed = other.mutate.setSize({ id, size: 7 });
    const shown = [ann, other].map((tab) =>
      tab.observe((tx) => {
        const note = tx.notes.get(id);
        return [note?.title, note?.size];
      }),
    );
    // Of its own call a tab that follows says at once that it is pending, and shows it when the leader has run it.
    await until("both, in both tabs", () => shown.every(({ state }) => isDeepStrictEqual(state.data, ["made offline", 7])));
    assert.deepEqual([ann.pending.length, other.pending.length], [2, 2]);
    device.cut = false;
    ann.goOnline();
    await changed.until("confirmed");
    const bob = await open();
    assert.equal((await bob.read((tx) => tx.notes.get(id), { view: "confirmed" }))?.size, 7);
  });

  test("is told of a row that somebody else made first once it is online", async () => {
    const [ann, bob] = [await open(), await open()];
    const id = newId();
    ann.goOffline();
    const late = ann.mutate.addNote({ id, title: "late" });
    await bob.mutate.addNote({ id, title: "first" }).until("confirmed");
    ann.goOnline();
    await assert.rejects(late.until("confirmed"), { message: /already has a row/ });
    assert.equal((await ann.read((tx) => tx.notes.get(id)))?.title, "first");
  });

  test("holds mutations while the token is refused, and sends them with another token", async () => {
    const ann: App = await new FakeDevice().openTab({ ...options, token: "0".repeat(32) });
    clients.push(ann);
    await until("the refusal", () => ann.connection.status === "refused");
    assert.equal(ann.connection.refusal, "unauthorized");
    const hit = ann.mutate.hit({ page: "held" });
    await hit.until("durable");
    ann.setToken(options.token);
    await hit.until("confirmed");
  });

  test("refuses arguments that its parser refuses, before anything is queued", async () => {
    const ann = await open();
    assert.throws(() => ann.mutate.hit({ page: 1 as never }), { name: "ZodError" });
    assert.throws(() => ann.mutate.addNote({ id: "xyz", title: "t" }), TypeError);
    assert.deepEqual(ann.pending, []);
  });

  test("does not call back who has stopped, also if that was in the callback of another one", async () => {
    const ann = await open();
    const page = newId();
    const seen: (number | undefined)[] = [];
    const stops: (() => void)[] = [];
    ann.react((tx) => tx.hits.get(page), {}, ({ data }) => {
      if (data === 1) {
        stops.forEach((stop) => stop());
      }
    });
    stops.push(ann.react((tx) => tx.hits.get(page), {}, ({ data }) => seen.push(data)));
    await until("the beginning", () => seen.includes(0));
    await ann.mutate.hit({ page }).until("confirmed");
    assert.ok(!seen.includes(1), `${seen}`);
    const observation = ann.observe((tx) => tx.hits.get(page));
    observation.onChange(() => seen.push(1));
    observation.stop();
    await ann.mutate.hit({ page }).until("confirmed");
    assert.ok(!seen.includes(1), `${seen}`);
  });

  test("can be closed, and says so afterwards", async () => {
    const ann = await open();
    const stop = ann.react((tx) => tx.hits.range(), {}, () => undefined);
    ann.goOffline();
    const unconfirmed = ann.mutate.hit({ page: "late" }).until("confirmed");
    await ann.close();
    await ann.close();
    stop();
    await assert.rejects(unconfirmed, { code: "closed" });
    assert.throws(() => ann.mutate.hit({ page: "late" }), (error: IoliteError) => error.code === "closed");
    assert.throws(() => ann.goOnline(), { code: "closed" });
  });
});

function newIdIn(id: string): ReturnType<typeof asId> {
  return asId([...id].reverse().join(""));
}
