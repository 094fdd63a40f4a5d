import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { newId } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";

describe("the memory of a client", () => {
  const stage = new NotesStage();

  test("has a limit, past which what was asked for last fails with the reason", async () => {
    const client = await stage.open(new FakeDevice(), { cacheBytes: 4_000 });
    for (let count = 0; count < 8; count += 1) {
      await client.mutate.addNote({ id: newId(), title: "a note" }).until("confirmed");
    }
    const observation = client.observe((tx) => tx.notes.range().length);
    observation.onChange(() => undefined);
    await until("the observation fails", () => observation.state.error !== undefined);
    assert.match(String(observation.state.error), /takes \d+ bytes of the cache, which has 4000: read less at a time/);
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
});
