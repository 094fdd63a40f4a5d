import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { defineMutators, defineSchema, live, mutator, MutationError, s } from "../index.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { type App, NotesStage } from "../testing/notesStage.js";
import { until } from "../testing/until.js";
import type { Reactive, SettledMutation } from "./types.js";

const hitsOf = (app: App, page: string): Promise<number> => app.read((tx) => tx.hits.get(page) ?? 0);

/** Follows a page's hits, and keeps every state. */
function watchHits(app: App, page: string): Reactive<number>[] {
  const states: Reactive<number>[] = [];
  app.react((tx) => tx.hits.get(page) ?? 0, {}, (state: Reactive<number>) => states.push(state));
  return states;
}

describe("two tabs of one user", () => {
  const stage = new NotesStage();

  /** The first leads, and the second follows it. */
  async function openTwo(device = new FakeDevice()): Promise<[leader: App, follower: App, device: FakeDevice]> {
    const leader = await stage.open(device);
    await until("the connection", () => leader.connection.status === "online");
    const follower = await stage.open(device);
    await until("the leader", () => follower.connection.status === "online");
    return [leader, follower, device];
  }

  test("have one connection, and each shows at once what the other one does", async () => {
    const [leader, follower, device] = await openTwo();
    assert.deepEqual([leader.connection.role, follower.connection.role, device.attempts], ["leader", "follower", 1]);
    const [inLeader, inFollower] = [watchHits(leader, "both"), watchHits(follower, "both")];
    await until("both", () => inLeader.at(-1)?.status === "ready" && inFollower.at(-1)?.status === "ready");
    leader.goOffline();
    const first = leader.mutate.hit({ page: "both" });
    await until("the leader's edit", () => inFollower.at(-1)?.data === 1);
    const second = follower.mutate.hit({ page: "both" });
    await until("the follower's edit", () => inLeader.at(-1)?.data === 2 && inFollower.at(-1)?.data === 2);
    const ids = ({ pending }: App): string[] => pending.map(({ id }) => id);
    assert.deepEqual([ids(leader), ids(follower)], [[first.id, second.id], [first.id, second.id]]);
    leader.goOnline();
    await Promise.all([first.until("confirmed"), second.until("confirmed")]);
    await until("the end in both", () => leader.pending.length + follower.pending.length === 0);
    assert.deepEqual([inLeader.at(-1)?.data, inFollower.at(-1)?.data], [2, 2]);
    assert.equal(await hitsOf(await stage.open(), "both"), 2);
  });

  test("confirm a mutation of the one that follows, once, and say so in both", async () => {
    const [leader, follower] = await openTwo();
    const settled: SettledMutation[][] = [[], []];
    [leader, follower].forEach((tab, index) => tab.onMutationSettled((mutation) => settled[index]?.push(mutation)));
    const states: string[] = [];
    const hit = follower.mutate.hit({ page: "once" });
    hit.onChange((status) => states.push(status.state === "pending" && status.durable ? "durable" : status.state));
    assert.deepEqual(follower.pending.map(({ id, name, args, status }) => ({ id, name, args, status })), [
      { id: hit.id, name: "hit", args: { page: "once" }, status: hit.status },
    ]);
    await hit.until("durable");
    await hit.until("confirmed");
    assert.deepEqual([hit.status, hit.cancel()], [{ state: "confirmed" }, false]);
    assert.deepEqual([states[0], states.at(-1), states.includes("pending")], ["durable", "confirmed", false]);
    await until("the news in both", () => settled.every((list) => list.length === 1));
    const end = { id: hit.id, name: "hit", args: { page: "once" }, status: { state: "confirmed" } };
    assert.deepEqual(settled, [[end], [end]]);
    assert.equal(await hitsOf(await stage.open(), "once"), 1);
  });

  test("list what was refused in both, until one of them dismisses it", async () => {
    const [leader, follower] = await openTwo();
    await leader.mutate.hit({ page: "throne" }).until("confirmed");
    for (const dismisser of [leader, follower]) {
      const claim = follower.mutate.claim({ page: "throne" });
      await assert.rejects(claim.until("confirmed"), (error: MutationError) => error.reason === "throne is taken");
      await until("the list", () => leader.refused.length === 1 && follower.refused.length === 1);
      assert.deepEqual([leader.refused, leader.refused[0]?.id], [follower.refused, claim.id]);
      let told = 0;
      leader.onRefusedChange(() => (told += 1));
      dismisser.dismiss(claim.id);
      await until("the empty lists", () => leader.refused.length + follower.refused.length === 0);
      assert.ok(told > 0);
    }
  });

  test("take back what was not sent, from the one that follows", async () => {
    const [leader, follower] = await openTwo();
    const shown = watchHits(leader, "back");
    await until("the data", () => shown.at(-1)?.status === "ready");
    follower.goOffline();
    await until("the silence", () => leader.connection.paused && leader.connection.status === "offline");
    const hit = follower.mutate.hit({ page: "back" });
    await until("the edit", () => shown.at(-1)?.data === 1);
    assert.equal(hit.cancel(), true);
    await assert.rejects(hit.until("confirmed"), { code: "cancelled", reason: "taken back" });
    const early = follower.mutate.hit({ page: "back" });
    assert.equal(early.cancel(), true);
    await assert.rejects(early.until("confirmed"), { code: "cancelled", reason: "taken back" });
    follower.goOnline();
    await until("the connection", () => leader.connection.status === "online" && !leader.connection.paused);
    assert.equal(await hitsOf(await stage.open(), "back"), 0);
  });

  test("go offline and online together, whichever is told, and a third one joins them", async () => {
    const [leader, follower, device] = await openTwo();
    const shown = watchHits(leader, "both");
    await until("the data", () => shown.at(-1)?.data === 2);
    leader.goOffline();
    await until("the silence", () => follower.connection.paused && follower.connection.status === "offline");
    const third = await stage.open(device);
    await until("the third", () => third.connection.paused && third.connection.status === "offline");
    assert.equal(await hitsOf(third, "both"), 2, "what the leader has on its disk is there offline");
    third.goOnline();
    await until("the connection", () => [leader, follower, third].every(({ connection }) => connection.status === "online"));
    assert.deepEqual([leader.connection.paused, follower.connection.paused], [false, false]);
  });

  test("send with the token that the one that follows was given", async () => {
    const device = new FakeDevice();
    const leader = await stage.open(device, { token: "0".repeat(32) });
    const follower = await stage.open(device, { token: "0".repeat(32) });
    await until("the refusal", () => follower.connection.refusal === "unauthorized");
    assert.equal(follower.connection.role, "follower");
    const hit = follower.mutate.hit({ page: "held" });
    follower.setToken(stage.options.token);
    await hit.until("confirmed");
    assert.equal(leader.connection.status, "online");
  });

  test("are accepted when one of them is opened with a good token, or is given one after bad ones", async () => {
    const device = new FakeDevice();
    const leader = await stage.open(device, { token: "0".repeat(32) });
    await until("the refusal", () => leader.connection.refusal === "unauthorized");
    const bad = await stage.open(device, { token: "1".repeat(32) });
    await until("the attempt with its token", () => device.attempts === 2);
    await until("its refusal", () => leader.connection.status === "refused" && bad.connection.status === "refused");
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(device.attempts, 2, "no token is tried twice");
    const good = await stage.open(device);
    await until("the connection", () => [leader, bad, good].every(({ connection }) => connection.status === "online"));
  });

  test("run closures without a name only in the one that leads, and say why", async () => {
    const [, follower] = await openTwo();
    await assert.rejects(follower.transact((tx) => tx.hits.range()), { code: "not-leading" });
  });

  test("say offline at once what is on no disk, and show it when there is a connection", async () => {
    const [leader, follower] = await openTwo();
    leader.goOffline();
    await until("the silence", () => follower.connection.status === "offline");
    await assert.rejects(hitsOf(follower, "far"), { code: "unavailable" });
    const states = watchHits(follower, "farther");
    await until("the answer", () => states.at(-1)?.status === "unavailable");
    leader.goOnline();
    await until("the data", () => states.at(-1)?.status === "ready");
  });

  test("of which one has another schema do not work together: it says so, and works when the other is closed", async () => {
    const device = new FakeDevice();
    const leader = await stage.open(device);
    const schema = defineSchema({ hits: live(s.counter()), others: live(s.counter()) });
    const mutators = defineMutators(schema, { hit: mutator((tx) => tx.hits.ref("other").increment()) });
    const other = stage.add(await device.openTab({ ...stage.options, schema, mutators }));
    await until("the refusal", () => other.connection.role === "waiting");
    assert.deepEqual([other.connection.status, other.connection.refusal], ["refused", "schema"]);
    assert.throws(() => other.mutate.hit(), { code: "not-ready" });
    await assert.rejects(other.read((tx) => tx.hits.get("other")), { code: "unavailable" });
    await leader.close();
    await until("the lead", () => other.connection.role === "leader");
  });

  test("of which one has another schema do not wait for each other", { timeout: 10_000 }, async () => {
    const device = new FakeDevice();
    await stage.open(device);
    const schema = defineSchema({ others: live(s.counter()) });
    const mutators = defineMutators(schema, { other: mutator((tx) => tx.others.ref("other").increment()) });
    const other = stage.add(await device.openTab({ ...stage.options, schema, mutators }));
    other.mutate.other();
    await assert.rejects(other.settled(), { code: "not-ready", message: /reload this tab/ });
  });

  test("are not harmed by messages of another release that lack parts", async () => {
    const [leader, follower, device] = await openTwo();
    const channel = device.channels?.open("iolite/notes/ann", () => undefined);
    const bytes = Uint8Array.of(1);
    const shared = { paused: true };
    for (const kind of ["toTab", "toLeader", "leads", "gone", "paused", "token", "offer", "constructor", 7, undefined]) {
      [{ kind }, { kind, from: "1", bytes }, { kind, to: 1, bytes, shared }].forEach((message) => channel?.post(message));
    }
    channel?.post(null);
    await follower.mutate.hit({ page: "foreign" }).until("confirmed");
    channel?.close();
    assert.deepEqual([leader.connection.status, leader.connection.paused, follower.connection.paused], ["online", false, false]);
  });

  test("are one again after the one that follows was put aside, and shown again", async () => {
    const [leader, follower, device] = await openTwo();
    const seen = watchHits(follower, "aside");
    await until("the data", () => seen.at(-1)?.status === "ready");
    device.putAside();
    device.deafTabs = true;
    await leader.mutate.hit({ page: "aside" }).until("confirmed");
    assert.equal(seen.at(-1)?.data, 0);
    device.deafTabs = false;
    device.wake();
    await until("what was missed", () => seen.at(-1)?.data === 1);
    assert.ok(seen.slice(1).every(({ status }) => status === "ready"));
  });
});
