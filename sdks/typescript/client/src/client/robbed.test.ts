import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { FakeDevice } from "../testing/fakeDevice.js";
import { nextWrite } from "../testing/nextWrite.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { sleepAsLeader } from "../testing/sleepAsLeader.js";
import { until } from "../testing/until.js";

const hitsOf = (app: App, page: string): Promise<number> => app.read((tx) => tx.hits.get(page) ?? 0);

describe("a call of a tab that is robbed of the lead", () => {
  const stage = new NotesStage();

  /** Two tabs, of which the first one leads, and a network that is cut. */
  async function openTwo(): Promise<[device: FakeDevice, first: App, second: App]> {
    const device = new FakeDevice();
    const [first, second] = [await stage.open(device), await stage.open(device)];
    await until("the connection", () => [first, second].every(({ connection }) => connection.status === "online"));
    return [device, first, second];
  }

  /** The second tab takes the lead. What comes back wakes the first one. */
  async function rob(device: FakeDevice, second: App): Promise<() => void> {
    const wake = sleepAsLeader(device, 0);
    await until("the lead", () => second.connection.role === "leader");
    return wake;
  }

  async function connect(device: FakeDevice, app: App): Promise<void> {
    device.cut = false;
    app.goOnline();
    await until("the connection", () => app.connection.status === "online");
  }

  test("whose write ended unclear is made once, and keeps its id", async () => {
    const [device, first, second] = await openTwo();
    device.cut = true;
    const written = nextWrite("is stored, and said to have failed");
    const hit = first.mutate.hit({ page: "unclear" });
    const { id } = hit;
    await written;
    assert.deepEqual(hit.status, { state: "pending", durable: false, sent: false, wouldReject: undefined });
    const wake = await rob(device, second);
    const [found, ...more] = second.pending;
    assert.deepEqual([found?.args, more], [{ page: "unclear" }, []], "the new leader has it");
    await connect(device, second);
    await until("its end", () => second.pending.length === 0);
    wake();
    await hit.until("confirmed");
    assert.equal(await hitsOf(second, "unclear"), 1);
    assert.deepEqual([hit.id, found?.id], [id, id]);
    assert.deepEqual([first.pending, second.pending], [[], []]);
  });

  test("that was refused and dismissed by another tab is told as refused", async () => {
    const [device, first, second] = await openTwo();
    await first.mutate.hit({ page: "dismissed" }).until("confirmed");
    device.cut = true;
    const claim = first.mutate.claim({ page: "dismissed" });
    await claim.until("durable");
    const wake = await rob(device, second);
    await connect(device, second);
    await until("the refusal", () => second.refused.length === 1);
    second.dismiss(second.refused[0]?.id ?? "");
    await until("that it is dismissed", () => second.refused.length === 0);
    wake();
    await assert.rejects(claim.until("confirmed"), { code: "rejected", reason: "dismissed is taken" });
  });

  test("is taken back under the new leader, and only this one", async () => {
    const [device, first, second] = await openTwo();
    device.cut = true;
    const written = nextWrite("fails");
    const hit = first.mutate.hit({ page: "back" });
    await written;
    const wake = await rob(device, second);
    const kept = second.mutate.hit({ page: "kept" });
    wake();
    await until("both calls at the new leader", () => second.pending.length === 2);
    await until("that it is queued", () => hit.status.state === "pending" && hit.status.durable);
    assert.equal(hit.cancel(), true);
    await assert.rejects(hit.until("confirmed"), { code: "cancelled", reason: "taken back" });
    await connect(device, second);
    await kept.until("confirmed");
    assert.deepEqual([await hitsOf(second, "back"), await hitsOf(second, "kept")], [0, 1]);
  });

  test("stays taken back if it was while nobody led", async () => {
    const [device, first, second] = await openTwo();
    device.cut = true;
    const written = nextWrite("fails");
    const hit = first.mutate.hit({ page: "wished" });
    await written;
    const wake = await rob(device, second);
    assert.equal(hit.cancel(), true, "it has no core");
    wake();
    await assert.rejects(hit.until("confirmed"), { code: "cancelled", reason: "taken back" });
    await connect(device, second);
    assert.equal(await hitsOf(second, "wished"), 0);
  });
});
