/** Users with tokens of their own, against a real server. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { type DevServer, startTokenServer } from "../testing/devServer.js";
import { FakeDevice } from "../testing/fakeDevice.js";
import { Issuer } from "../testing/issuer.js";
import { leave } from "../testing/leave.js";
import { mutators, schema } from "../testing/notesApp.js";
import type { App } from "../testing/notesStage.js";
import { until } from "../testing/until.js";
import type { ConnectionState, TokenFunction } from "./types.js";

/** Seconds. Short, so that several lives fit into a test; longer than a slow machine takes to connect. */
const LIFE = 2;

describe("a user with tokens", () => {
  const issuer = new Issuer();
  const opened: App[] = [];
  let server: DevServer;

  before(async () => {
    server = await startTokenServer(...issuer.settings);
  });
  after(async () => {
    await Promise.all(opened.map((client) => client.close()));
    await server.stop();
  });

  const always = (sub: string) => () => issuer.token(sub, 3600);

  /** `ann` on the device, whoever the token is of. */
  async function open(token: string | TokenFunction, device = new FakeDevice()): Promise<App> {
    const client: App = await device.openTab({ url: server.url, token, name: "notes", user: "ann", schema, mutators });
    opened.push(client);
    return client;
  }

  const online = (client: App) => until("the connection", () => client.connection.status === "online");
  const hitsOf = (client: App, page: string): Promise<number> => client.read((tx) => tx.hits.get(page) ?? 0, { view: "confirmed" });

  test("whose page is open over three lives of tokens loses nothing of what was called, also offline", async () => {
    const device = new FakeDevice();
    let asked = 0;
    const ann = await open(async () => {
      asked += 1;
      await Promise.resolve();
      return issuer.token("ann", LIFE);
    }, device);
    await online(ann);
    device.cut = true;
    const held = Array.from({ length: 5 }, () => ann.mutate.hit({ page: "lives" }));
    const end = Date.now() + LIFE * 1000;
    await until("the end of the token", () => Date.now() > end);
    device.cut = false;
    ann.goOnline();
    await Promise.all(held.map((hit) => hit.until("confirmed")));
    assert.ok(asked > 1, "the first one had run out");
    const states: ConnectionState["status"][] = [];
    ann.onConnectionChange(({ status }) => states.push(status));
    const links = device.attempts;
    for (const [lives, before] of [asked, asked + 1, asked + 2].entries()) {
      await until(`another token after ${lives} lives`, () => asked > before);
      await ann.mutate.hit({ page: "lives" }).until("confirmed");
    }
    assert.deepEqual([states, device.attempts], [[], links], "new tokens take their places in the same connection");
    assert.equal(await hitsOf(await open(always("bob")), "lives"), 8);
  });

  test("without a token is refused, with the function's own words, and is online as soon as there is one", async () => {
    let answer: TokenFunction = () => Promise.reject(new Error("Sign in again."));
    const device = new FakeDevice();
    const ann = await open(() => answer(), device);
    await until("the refusal", () => ann.connection.refusal === "unauthorized");
    assert.match(ann.connection.message ?? "", /Sign in again\./);
    assert.equal(device.attempts, 0, "there is nothing to connect with");
    const hit = ann.mutate.hit({ page: "first" });
    answer = () => issuer.token("ann", -3600);
    await until("the link, with a token that has run out", () => device.attempts > 0);
    await until("the server's words", () => /has run out/.test(ann.connection.message ?? ""));
    answer = always("ann");
    await hit.until("confirmed");
  });

  test("is not taken for another one: what waits is held until there is a token of the same user", async () => {
    const device = new FakeDevice();
    const first = await open(always("ann"), device);
    await online(first);
    await first.close();
    const bens = await open(issuer.token("ben", 3600), device);
    const hit = bens.mutate.hit({ page: "held" });
    await until("the refusal", () => bens.connection.refusal === "other-user");
    assert.match(bens.connection.message ?? "", /signOut/);
    const bob = await open(always("bob"));
    assert.equal(await hitsOf(bob, "held"), 0);
    await assert.rejects(bens.signOut(), { code: "pending" });
    bens.setToken(issuer.token("ann", 3600));
    await hit.until("confirmed");
    await until("ann's change", () => bob.connection.status === "online");
    assert.equal(await hitsOf(await open(always("bob")), "held"), 1);
    await bens.signOut();
    await online(await open(always("ben"), device));
  });

  test("is asked for a token in the tab that leads only, and in the next one when it leads", async () => {
    const device = new FakeDevice();
    const asked = [0, 0];
    const tab = (index: 0 | 1) => open(() => ((asked[index] = (asked[index] ?? 0) + 1), issuer.token("ann", 3600)), device);
    const [leader, follower] = [await tab(0), await tab(1)];
    await online(follower);
    assert.deepEqual(asked, [1, 0]);
    await leave(leader);
    await follower.mutate.hit({ page: "next" }).until("confirmed");
    assert.deepEqual(asked, [1, 1]);
  });
});
