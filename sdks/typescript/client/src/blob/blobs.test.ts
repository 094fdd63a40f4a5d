/** Blobs of up to 4 KiB: from a mutation's argument into a row, and to another client. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { platform } from "#platform";

import { BlobValue, blobOf, defineLog, defineMutators, defineSchema, mutator, operation, s, table } from "../index.js";
import { decodeArguments, encodeArguments } from "../arguments/stored.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { servedApps } from "../testing/servedApps.js";
import { until } from "../testing/until.js";
import { canonicalSchema } from "../wasm/iolite_wasm.js";

const sheet = defineLog(
  "sheet",
  { cells: table({ sheet: s.string(), at: s.string() }).key("sheet", "at") },
  { set: operation((tx, at: unknown) => tx.cells.insert({ sheet: "budget", at: String(at) })) },
);

const schema = defineSchema({
  photos: table({ id: s.string(), photo: s.blob({ fetch: "on-demand" }), thumbnail: s.blob().optional() }).key("id"),
  ...sheet.tables,
});

const mutators = defineMutators(schema, {
  add: mutator((tx, { id, photo }: { id: string; photo: BlobValue }) => tx.photos.insert({ id, photo })),
  copy: mutator((tx, { from, to }: { from: string; to: string }) => {
    const photo = tx.photos.get(from)?.photo;
    if (photo !== undefined) {
      tx.photos.update(to, { thumbnail: photo });
    }
  }),
});

const content = Uint8Array.from({ length: 4096 }, (_, place) => place % 251);

describe("blobs", () => {
  const open = servedApps({ name: "blobs", schema, mutators });

  test("go from an argument into a row, and to another client", async () => {
    const [writer, reader] = [await open(), await open()];
    await writer.mutate.add({ id: "a", photo: blobOf(content) }).until("confirmed");
    await writer.mutate.add({ id: "b", photo: blobOf(Uint8Array.of()) }).until("confirmed");
    await writer.mutate.copy({ from: "a", to: "b" }).until("confirmed");
    const seen: (readonly [BlobValue, BlobValue | null])[] = [];
    reader.react((tx) => tx.photos.get("b"), {}, ({ data }) => data && seen.push([data.photo, data.thumbnail]));
    await until("the row", () => seen.at(-1)?.[1] instanceof BlobValue);
    const [photo, thumbnail] = seen.at(-1) ?? [];
    assert.equal(photo?.length, 0);
    assert.deepEqual(thumbnail?.bytes(), content);
    assert.match(thumbnail?.digest ?? "", /^[0-9a-f]{64}$/);
  });

  test("are no bytes, and bytes are no blobs", async () => {
    const client = await open();
    const put = (photo: unknown) => client.transact((tx) => tx.photos.insert({ id: "c", photo: photo as BlobValue }));
    for (const wrong of [content, { blob: content }, "a", {}]) {
      await assert.rejects(put(wrong), /column "photo": it is a column of type blob/);
    }
  });

  test("are in no argument of a log's operation", async () => {
    const client = await open();
    const log = client.log(sheet, "budget");
    assert.throws(() => log.do.set(blobOf(content)), { code: "call", message: /an operation of a log takes no blobs/ });
  });
});

test("a blob is read back from stored arguments, and is not changed by anybody", () => {
  const bytes = Uint8Array.of(0, 255);
  const blob = blobOf(bytes);
  bytes[0] = 1;
  blob.bytes()[1] = 1;
  const { photo } = decodeArguments(encodeArguments({ photo: blob, $blob: "mine" })) as { photo: BlobValue };
  assert.deepEqual(photo.bytes(), Uint8Array.of(0, 255));
});

test("more than 4 KiB are refused with a sentence that says so", () => {
  assert.throws(() => blobOf(new Uint8Array(4097)), { code: "call", message: /a blob of 4097 bytes.*blobs\.put/ });
  assert.throws(() => blobOf("text" as never), { code: "call", message: /a Uint8Array/ });
  assert.throws(() => new BlobValue(undefined, content, 1), { code: "call", message: /blobOf/ });
});

/** No two chunks of it are equal. */
function large(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, place) => Math.floor(place / 65_536) * 7 + Math.floor(place / 256) + place);
}

describe("large blobs", () => {
  const open = servedApps({ name: "large-blobs", schema, mutators });

  test("go from a stream on one device to another client, byte for byte", async () => {
    const [writer, reader] = [await open(), await open()];
    const bytes = large(3 * 1024 * 1024);
    const photo = await writer.blobs.put(new Blob([bytes.slice(0, 1_000_000), bytes.slice(1_000_000)]).stream());
    // A test of the Rust SDK has the same of the same bytes.
    assert.equal(photo.digest, "52d68e43288236e69577651d27d396393a10c73fc4aa8916b42144efe9923c80");
    assert.equal(photo.length, bytes.length);
    await writer.mutate.add({ id: "large", photo }).until("confirmed");
    const seen: BlobValue[] = [];
    reader.react((tx) => tx.photos.get("large"), {}, ({ data }) => data && seen.push(data.photo));
    await until("the row", () => seen.length > 0);
    const [read] = seen;
    assert.ok(read !== undefined);
    assert.deepEqual([read.length, read.digest], [photo.length, photo.digest]);
    const blob = reader.blobs.open(read);
    assert.deepEqual(await blob.state(), { here: "none", bytesHere: 0 });
    assert.deepEqual(await blob.bytes({ from: 1_000_000, to: 1_000_010 }), bytes.slice(1_000_000, 1_000_010));
    assert.deepEqual(await blob.state(), { here: "part", bytesHere: 65_536 });
    assert.ok(Buffer.from(await blob.bytes()).equals(bytes));
    assert.equal((await blob.state()).here, "all");
    assert.throws(() => read.bytes(), { code: "call", message: /blobs\.open/ });
  });

  test("are put and read in a tab that follows, through the one that leads", async () => {
    const device = new FakeDevice();
    const [leader, follower, other] = [await open(device), await open(device), await open()];
    assert.deepEqual([leader.connection.role, follower.connection.role], ["leader", "follower"]);
    const theirs = large(300_000);
    await other.mutate.add({ id: "theirs", photo: await other.blobs.put(theirs) }).until("confirmed");
    const seen: BlobValue[] = [];
    follower.react((tx) => tx.photos.get("theirs"), {}, ({ data }) => data && seen.push(data.photo));
    await until("the row", () => seen.length > 0);
    const [read] = seen;
    assert.ok(read !== undefined);
    const bytes = await follower.blobs.open(read).bytes();
    assert.ok(Buffer.from(bytes).equals(theirs));
    assert.equal((await leader.blobs.open(read).state()).here, "all", "they share the chunks");
    const ours = large(200_000);
    await follower.mutate.add({ id: "ours", photo: await follower.blobs.put(ours) }).until("confirmed");
    const found: BlobValue[] = [];
    other.react((tx) => tx.photos.get("ours"), {}, ({ data }) => data && found.push(data.photo));
    await until("the other row", () => found.length > 0);
    assert.ok(Buffer.from(await other.blobs.open(found[0] as BlobValue).bytes()).equals(ours));
  });

  test("say so where the device has no room, and nothing else breaks", async () => {
    const device = new FakeDevice();
    const client = await open(device);
    const name = "iolite/large-blobs/ann/chunks";
    const opening = (device.indexedDB as IDBFactory).open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("another");
    await new Promise((resolve) => (opening.onsuccess = resolve));
    opening.result.close();
    await assert.rejects(client.blobs.put(large(100_000)), { code: "storage", message: /no room for the blob/ });
    await client.mutate.add({ id: "small", photo: blobOf(content) }).until("confirmed");
  });

  test("are refused where they were read from another row", async () => {
    const client = await open();
    await client.mutate.add({ id: "one", photo: await client.blobs.put(large(100_000)) }).until("confirmed");
    const copied = client.mutate.copy({ from: "one", to: "one" });
    await assert.rejects(copied.until("confirmed"), /a blob of one row is not put into another/);
  });

  test("are made of nothing but bytes, and fail with their stream", async () => {
    const client = await open();
    await assert.rejects(client.blobs.put("text" as never), { code: "call", message: /a Uint8Array, a Blob, or a stream/ });
    const failing = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("the camera is gone")),
    });
    await assert.rejects(client.blobs.put(failing), /the camera is gone/);
    const text = new ReadableStream({ start: (controller) => controller.enqueue("text") });
    await assert.rejects(client.blobs.put(text as never), { code: "call", message: /Uint8Arrays/ });
    assert.equal((await client.blobs.put(new Uint8Array())).length, 0);
    const blob = client.blobs.open(await client.blobs.put(large(10_000)));
    for (const from of [-1, 0.5, Number.NaN, "1" as never]) {
      assert.throws(() => blob.stream({ from }), { code: "call", message: /from is a whole number of bytes/ });
    }
    assert.equal((await blob.bytes({ from: 9_999, to: 20_000 })).length, 1);
    assert.equal((await blob.bytes({ from: 5, to: 2 })).length, 0);
    assert.throws(() => client.blobs.open(content as never), { code: "call", message: /a blob is opened/ });
  });
});

before(() => platform.loadCore());

test("a schema has a blob in no key, index, collection or log", () => {
  const refused: [() => { readonly json: string }, RegExp][] = [
    [() => defineSchema({ t: table({ id: s.blob() }).key("id" as never) }), /a blob cannot be in a primary key/],
    [() => defineSchema({ t: table({ id: s.id(), tags: s.set(s.blob()) }) }), /a set has no blobs/],
    [() => defineSchema(defineLog("l", { photos: table({ l: s.string(), photo: s.blob() }).key("l") }, {}).tables), /a table of a log has no blobs/],
  ];
  for (const [make, message] of refused) {
    assert.throws(() => canonicalSchema(make().json), message);
  }
});
