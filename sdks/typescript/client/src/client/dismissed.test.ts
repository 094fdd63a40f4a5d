import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { type ClientOf, defineMutators } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { leave } from "../testing/leave.js";
import { mutators, schema } from "../testing/notesApp.js";
import { until } from "../testing/until.js";

type App = ClientOf<typeof mutators>;

const listed = ({ refused }: Pick<App, "refused">): string[] => refused.map(({ id }) => id);

/** Tabs of one device without a network, and two mutations that are refused in all of them: the one that leads does not know their mutator. */
async function refusedInTabs(t: TestContext, followers: number) {
  const device = new FakeDevice();
  device.cut = true;
  const options = { url: "ws://127.0.0.1:1/sync", token: "0".repeat(32), name: "notes", user: "ann", schema };
  const open = async <M>(own: { schema: typeof schema; byName: M }) => {
    const tab = await device.openTab({ ...options, mutators: own });
    t.after(() => tab.close());
    return tab;
  };
  const leader = await open(defineMutators(schema, {}));
  const tabs: App[] = [];
  for (let count = 0; count < followers; count += 1) {
    tabs.push(await open(mutators));
  }
  await until("the leader", () => tabs.every(({ connection }) => connection.status === "offline"));
  const ids = [0, 1].map(() => tabs[0]?.mutate.hit({ page: "dismissed" }).id ?? "");
  await until("the refusals", () => tabs.every(({ refused }) => refused.length === 2));
  await leader.live.hits("stored").increment().until("durable");
  return { device, leader, tabs, open: () => open(mutators), kept: ids[0], gone: ids[1] ?? "" };
}

test("a refused mutation that is dismissed while a tab takes the lead is gone at once, and does not come back", async (t) => {
  let release = (): void => undefined;
  t.after(() => release());
  const { device, leader, tabs, open, kept, gone } = await refusedInTabs(t, 1);
  const [follower] = tabs;
  assert.ok(follower !== undefined);
  release = await device.holdStorage("iolite/notes/ann");
  await leave(leader);
  let told = 0;
  follower.onRefusedChange(() => (told += 1));
  follower.dismiss(gone);
  assert.deepEqual([listed(follower), told], [[kept], 1]);
  release();
  await until("the lead", () => follower.connection.role === "leader");
  assert.deepEqual(listed(follower), [kept]);
  await follower.close();
  assert.deepEqual(listed(await open()), [kept]);
});

test("a refused mutation that is dismissed when the tab that leads hears nothing any more does not come back, whoever leads next", async (t) => {
  const { device, leader, tabs, open, kept, gone } = await refusedInTabs(t, 2);
  const [next, third] = tabs;
  assert.ok(next !== undefined && third !== undefined);
  const release = await device.holdStorage("iolite/notes/ann");
  device.deafTabs = true;
  next.dismiss(gone);
  third.dismiss(kept ?? "");
  await leave(leader);
  device.deafTabs = false;
  release();
  await until("that nothing is listed", () => next.connection.role === "leader" && next.refused.length === 0);
  await Promise.all([next.close(), third.close()]);
  assert.deepEqual(listed(await open()), []);
});
