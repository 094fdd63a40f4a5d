import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type Id, type IoliteError, newId } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";

describe("the memory of a client", () => {
  const stage = new NotesStage();

  test("has a limit, past which what was asked for last fails with the reason", async () => {
    const client = await stage.open(new FakeDevice(), { cacheBytes: 2_000 });
    for (let count = 0; count < 8; count += 1) {
      await client.mutate.addNote({ id: newId(), title: "a note" }).until("confirmed");
    }
    const observation = client.observe((tx) => tx.notes.range().length);
    observation.onChange(() => undefined);
    await until("the observation fails", () => observation.state.error !== undefined);
    assert.match(String(observation.state.error), /takes \d+ bytes of the cache, which has 2000: read less at a time/);
  });

  test("keeps what is pinned, also offline, and a pin says when it is there", async () => {
    const writer = await stage.open();
    const id = newId();
    await writer.mutate.addNote({ id, title: "kept" }).until("confirmed");
    const client = await stage.open(new FakeDevice());
    let state = "none";
    const unpin = client.pin(
      (tx) => tx.notes.get(id),
      ({ status }) => (state = status),
    );
    await until("it is there", () => state === "ready");
    client.goOffline();
    assert.equal((await client.read((tx) => tx.notes.get(id)))?.title, "kept");
    unpin();
  });

  test("gives up what was used least recently when it is full, but not what is pinned", async () => {
    const writer = await stage.open();
    const ids = Array.from({ length: 5 }, newId);
    for (const id of ids) {
      await writer.mutate.addNote({ id, title: "x".repeat(10_000) }).until("confirmed");
    }
    // Three have room.
    const client = await stage.open(new FakeDevice(), { cacheBytes: 35_000 });
    const visit = async (places: number[]): Promise<void> => {
      for (const place of places) {
        await client.read((tx) => tx.notes.get(ids[place] as Id));
      }
    };
    const held = async (): Promise<number[]> => {
      client.goOffline();
      const reads = ids.map((id, place) => client.read((tx) => tx.notes.get(id)).then(() => place));
      const settled = await Promise.allSettled(reads);
      client.goOnline();
      await until("the connection", () => client.connection.status === "online");
      return settled.flatMap((read) => {
        if (read.status === "rejected") {
          assert.equal((read.reason as IoliteError).code, "unavailable");
          return [];
        }
        return [read.value];
      });
    };
    let isPinned = false;
    const unpin = client.pin(
      (tx) => tx.notes.get(ids[0] as Id),
      ({ status }) => (isPinned = status === "ready"),
    );
    await until("the pinned one", () => isPinned);
    await visit([1, 2, 1, 3]);
    assert.deepEqual(await held(), [0, 1, 3]);
    unpin();
    await visit([2, 3, 4]);
    assert.deepEqual(await held(), [2, 3, 4]);
  });
});
