import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { FakeDevice } from "../testing/fakeDevice.js";
import { NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";

describe("a client that asks for batches", () => {
  const stage = new NotesStage();

  test("is told while others go on, and no more often than it asked", { timeout: 30_000 }, async () => {
    const ms = 200;
    const [writer, reader] = [await stage.open(), await stage.open(new FakeDevice(), { batch: { ms } })];
    const seen = new Set<number | undefined>();
    reader.react((tx) => tx.hits.get("batched"), { view: "confirmed" }, ({ status, data }) => status === "ready" && seen.add(data));
    await until("the first state", () => seen.size === 1);
    const begunMs = performance.now();
    let written = 0;
    while (seen.size < 5) {
      await writer.mutate.hit({ page: "batched" }).until("confirmed");
      written += 1;
    }
    await until("the last one", () => seen.has(written));
    // Only fewer on a slow machine.
    const periods = Math.floor((performance.now() - begunMs) / ms);
    assert.ok(seen.size - 1 <= 1 + periods, `${seen.size - 1} times in ${periods} periods`);
  });
});
