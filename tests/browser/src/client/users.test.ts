/** Two users and one device, in real tabs: nothing of one is sent as the other, and signing out leaves nothing behind. */

import assert from "node:assert/strict";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { before, test } from "node:test";

import type { Page } from "playwright-core";

import { launchChromium } from "../chromium.js";
import { startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { until } from "../until.js";

/** The user as whom a tab speaks stands in its address. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>tab</title>
<style>body { font: 16px sans-serif; max-width: 40em; margin: 2em auto } #problem { border-left: 4px solid crimson; padding-left: 1em }</style>
<script type="importmap">{ "imports": { "#platform": "/dist/platform/browser.js" } }</script>
<h1>Hits</h1><p id="status"></p><p id="waiting"></p><p id="problem" role="alert"></p>
<script type="module">
  import { createClient, developmentServer, defineMutators, defineSchema, live, mutator, s } from "/dist/index.js";
  const schema = defineSchema({ hits: live(s.counter()) });
  const mutators = defineMutators(schema, { hit: mutator((tx) => tx.hits.ref("a").increment()) });
  const { url, token } = await developmentServer();
  const as = { sub: location.hash.slice(1) };
  window.db = await createClient({ url, token, as, name: "users", user: "device", schema, mutators, development: false });
  window.tokenOf = (sub) => token + " as " + JSON.stringify({ sub });
  const show = () => {
    const { status, role, refusal, message } = db.connection;
    document.querySelector("#status").textContent = as.sub + ": " + [status, role, refusal].filter(Boolean).join(", ");
    document.querySelector("#waiting").textContent = db.pending.length + " waiting";
    document.querySelector("#problem").textContent = message ?? "";
  };
  db.onConnectionChange(show);
  db.onPendingChange(show);
  show();
</script>`;

/** The page and the package, as they are served. */
const APP = "tests/browser/dist/users";

before(async () => {
  await cp(repositoryPath("sdks/typescript/client/dist"), repositoryPath(`${APP}/dist`), { recursive: true });
  await writeFile(repositoryPath(`${APP}/index.html`), PAGE);
});

/** As the page sees it. */
interface Db {
  readonly connection: { readonly status: string; readonly role: string; readonly refusal?: string; readonly message?: string };
  readonly pending: readonly unknown[];
  readonly mutate: { hit(): { until(stage: string): Promise<void> } };
  setToken(token: string): void;
  signOut(options?: { discard: true }): Promise<void>;
}
declare const window: { db: Db; tokenOf(sub: string): string };

test("a device of ann sends nothing as ben, and forgets her when she signs out in another tab", { timeout: 90_000 }, async () => {
  const server = await startIolite({ app: APP });
  const browser = await launchChromium();
  try {
    const context = await browser.newContext();
    const open = async (sub: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(`${server.origin}/#${sub}`);
      await page.waitForFunction(() => window.db !== undefined);
      return page;
    };
    const connection = (page: Page) => page.evaluate(() => ({ ...window.db.connection }));
    const first = await open("ann");
    await until("ann's connection", async () => (await connection(first)).status === "online");
    await first.close();

    const [leader, follower] = [await open("ben"), await open("ben")];
    await leader.evaluate(() => void window.db.mutate.hit());
    await until("the refusal in both tabs", async () => (await Promise.all([leader, follower].map(connection))).every(({ refusal }) => refusal === "other-user"));
    await mkdir(repositoryPath("test-results"), { recursive: true });
    await follower.screenshot({ path: repositoryPath("test-results/other-user.png") });
    const refused = await follower.evaluate(() => window.db.signOut().catch((error: { code: string }) => error.code));
    assert.equal(refused, "pending");
    await leader.evaluate(() => window.db.setToken(window.tokenOf("ann")));
    await until("ann's change", () => follower.evaluate(() => window.db.pending.length === 0));

    await follower.evaluate(() => window.db.signOut());
    await until("the end of the other tab", async () => (await connection(leader)).role === "waiting");
    await leader.screenshot({ path: repositoryPath("test-results/signed-out.png") });
    assert.deepEqual(await leader.evaluate(() => indexedDB.databases()), []);
    const ben = await open("ben");
    await until("ben's connection", async () => (await connection(ben)).status === "online");
  } finally {
    await browser.close();
    await server.stop();
  }
});
