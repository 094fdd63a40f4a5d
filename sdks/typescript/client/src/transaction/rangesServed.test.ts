/** Ranges with a limit, with a server: what goes over the wire, and which writes of others a mutation's read conflicts with. */

import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";

import type { Client } from "../client/types.js";
import { createClient, defineMutators, defineSchema, live, mutator, s, table } from "../index.js";
import { type DevServer, startDevServer } from "../testing/devServer.js";
import { until } from "../testing/until.js";
import type { ReadTransaction } from "./types.js";

const schema = defineSchema({
  logs: table({ room: s.string(), at: s.int(), text: s.string(), seen: s.counter() }).key("room", "at"),
  hits: live(s.counter()),
});

const LONG = "x".repeat(200);

const mutators = defineMutators(schema, {
  fill: mutator((tx, { room, from, count }: { room: string; from: number; count: number }) => {
    for (let at = from; at < from + count; at++) {
      tx.logs.insert({ room, at, text: LONG });
    }
  }),
  hitAll: mutator((tx, { from, count }: { from: number; count: number }) => {
    for (let n = from; n < from + count; n++) {
      tx.hits.ref(`k${n}`).increment();
    }
  }),
  rename: mutator((tx, { room, at, text }: { room: string; at: number; text: string }) => tx.logs.update([room, at], { text })),
  remove: mutator((tx, { room, at }: { room: string; at: number }) => tx.logs.delete([room, at])),
  /** Writes into the first row of a room how many of its first four have another text than most. */
  judge: mutator((tx, { room }: { room: string }) => {
    const rows = tx.logs.range({ prefix: [room], limit: 4 });
    const first = rows[0];
    if (first !== undefined) {
      tx.logs.update([room, first.at], { text: `${rows.filter((row) => row.text !== LONG).length} of ${rows.map((row) => row.at)}` });
    }
  }),
});

type App = Client<typeof schema, (typeof mutators)["byName"]>;
type Read = (tx: ReadTransaction<typeof schema>) => readonly unknown[];

const ROWS = 400;

/** Hands everything on, and counts the bytes that come from the server. */
interface Relay {
  readonly url: string;
  down: number;
  readonly server: Server;
}

async function startRelay(url: string): Promise<Relay> {
  const near = new URL(url);
  const far = { port: Number(near.port), host: near.hostname };
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const other = connect(far);
    for (const socket of [client, other]) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
    }
    client.pipe(other);
    other.on("data", (bytes) => {
      relay.down += bytes.length;
    });
    other.pipe(client);
  });
  server.on("close", () => open.forEach((socket) => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  near.port = String((server.address() as AddressInfo).port);
  const relay: Relay = { url: near.href, down: 0, server };
  return relay;
}

describe("a range with a limit", () => {
  let server: DevServer;
  let relay: Relay;
  let writer: App;
  const opened: App[] = [];

  const open = async (url: string): Promise<App> => {
    const client = await createClient({ url, token: server.token, user: "ann", name: "ranges", storage: "memory", schema, mutators });
    opened.push(client);
    await until("the connection", () => client.connection.status === "online");
    return client;
  };

  before(async () => {
    server = await startDevServer();
    relay = await startRelay(server.url);
    writer = await open(server.url);
    for (const room of ["a", "b", "c"]) {
      await writer.mutate.fill({ room, from: 0, count: ROWS }).until("confirmed");
    }
    await writer.mutate.hitAll({ from: 100, count: ROWS }).until("confirmed");
  });
  after(async () => {
    await Promise.all(opened.map((client) => client.close()));
    relay.server.close();
    await server.stop();
  });

  const ranges: Record<string, { read: Read; first: unknown }> = {
    "of the whole table": { read: (tx) => tx.logs.range({ limit: 10 }), first: 0 },
    "with a prefix": { read: (tx) => tx.logs.range({ prefix: ["b"], limit: 10 }), first: 0 },
    "with a place to begin": { read: (tx) => tx.logs.range({ from: ["b", 50], limit: 10 }), first: 50 },
    "behind a place": { read: (tx) => tx.logs.range({ after: ["b", 50], limit: 10 }), first: 51 },
    "with an end": { read: (tx) => tx.logs.range({ from: ["a", 30], to: ["b", 390], limit: 10 }), first: 30 },
    "from its end": { read: (tx) => tx.logs.range({ prefix: ["b"], reverse: true, limit: 10 }), first: ROWS - 1 },
    "from its end, with bounds": { read: (tx) => tx.logs.range({ from: ["a", 0], to: ["b", 90], reverse: true, limit: 10 }), first: 89 },
    "of a live table": { read: (tx) => tx.hits.range({ limit: 10 }), first: "k100" },
    "of a live table from its end": { read: (tx) => tx.hits.range({ reverse: true, limit: 10 }), first: "k499" },
  };
  for (const [what, { read, first }] of Object.entries(ranges)) {
    test(`${what} brings some tens of rows, and no word of a write behind them`, async () => {
      const reader = await open(relay.url);
      const before = relay.down;
      const states: string[] = [];
      const stop = reader.pin(read, (state) => states.push(state.status));
      await until("the rows", () => states.at(-1) === "ready");
      const rows = (await reader.read(read)) as readonly { at?: number; key?: string }[];
      assert.equal(rows.length, 10);
      assert.equal(rows[0]?.at ?? rows[0]?.key, first);
      const bytes = relay.down - before;
      assert.ok(bytes < 40 * (LONG.length + 60), `${bytes} bytes came`);

      await writer.mutate.rename({ room: "a", at: 200, text: "y".repeat(20_000) }).until("confirmed");
      await writer.mutate.rename({ room: "b", at: 200, text: "y".repeat(20_000) }).until("confirmed");
      await writer.mutate.hitAll({ from: 200, count: 200 }).until("confirmed");
      const written = relay.down;
      // The answer to this comes behind all that was told of these.
      assert.equal(await reader.read((tx) => tx.logs.get(["nowhere", 1])), undefined);
      assert.ok(relay.down - before < bytes + 1500, `${relay.down - before - bytes} bytes came, ${relay.down - written} of them for the last read`);
      stop();
      await reader.close();
    });
  }

  test("asks page by page only for what is missing", async () => {
    const reader = await open(relay.url);
    const before = relay.down;
    for (let limit = 10; limit <= 100; limit += 10) {
      assert.equal((await reader.read((tx) => tx.logs.range({ prefix: ["c"], limit }))).length, limit);
    }
    const bytes = relay.down - before;
    // Anew each time, 10 to 100 rows would be 550.
    assert.ok(bytes < 250 * (LONG.length + 60), `${bytes} bytes came`);
    await reader.close();
  });

  test("is filled up as rows in it are deleted", async () => {
    await writer.mutate.fill({ room: "d", from: 0, count: 60 }).until("confirmed");
    const reader = await open(relay.url);
    const observation = reader.observe((tx) => tx.logs.range({ prefix: ["d"], limit: 5 }).map((row) => row.at));
    for (let at = 0; at < 40; at++) {
      await writer.mutate.remove({ room: "d", at }).until("confirmed");
      const expected = JSON.stringify([1, 2, 3, 4, 5].map((behind) => at + behind));
      await until(expected, () => JSON.stringify(observation.state.data) === expected);
    }
    observation.stop();
    await reader.close();
  });

  /** Runs while the reader's call is on its way offline: another one commits `meanwhile`, and then it is sent. */
  async function judged(room: string, meanwhile: () => Promise<unknown>): Promise<string> {
    const reader = await open(server.url);
    await reader.read((tx) => tx.logs.range({ prefix: [room], limit: 4 }));
    reader.goOffline();
    const call = reader.mutate.judge({ room });
    await meanwhile();
    reader.goOnline();
    await call.until("confirmed");
    const [first] = await reader.read((tx) => tx.logs.range({ prefix: [room], limit: 1 }));
    await reader.close();
    return first?.text ?? "";
  }

  test("is read by a mutation so that what comes into it conflicts, also from rows on the device", async () => {
    await writer.mutate.fill({ room: "e", from: 10, count: 40 }).until("confirmed");
    const insert = () => writer.mutate.fill({ room: "e", from: 9, count: 1 }).until("confirmed");
    assert.equal(await judged("e", insert), "0 of 9,10,11,12");
    const change = () => writer.mutate.rename({ room: "e", at: 12, text: "new" }).until("confirmed");
    assert.equal(await judged("e", change), "2 of 9,10,11,12");
    const remove = () => writer.mutate.remove({ room: "e", at: 11 }).until("confirmed");
    assert.equal(await judged("e", remove), "2 of 9,10,12,13");
  });

  test("asks for nothing that a wider one has brought", async () => {
    const reader = await open(relay.url);
    await reader.read((tx) => tx.logs.range({ prefix: ["a"], limit: 10 }));
    const before = relay.down;
    assert.equal((await reader.read((tx) => tx.logs.range({ prefix: ["a"], limit: 4 }))).length, 4);
    assert.ok(relay.down - before < LONG.length, "the rows are there");
    await reader.close();
  });
});
