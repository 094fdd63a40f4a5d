/** A tab that leads and stands still, in a real browser and with the real patience: the other one confirms, and nothing is lost or done twice. */

import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { before, describe, test } from "node:test";

import type { BrowserContext, Page } from "playwright-core";

import { launchChromium } from "../chromium.js";
import { startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { until } from "../until.js";

const PAGE = `<!doctype html><meta charset="utf-8"><title>tab</title>
<script type="importmap">{ "imports": { "#platform": "/dist/platform/browser.js" } }</script>
<script type="module">
  import { createClient, developmentServer, defineMutators, defineSchema, live, mutator, s } from "/dist/index.js";
  const schema = defineSchema({ hits: live(s.counter()) });
  const mutators = defineMutators(schema, { hit: mutator((tx) => tx.hits.ref("a").increment()) });
  window.db = await createClient({ ...(await developmentServer()), name: "still", user: "ann", schema, mutators });
</script>`;

/** The page and the package, as they are served. */
const APP = "tests/browser/dist/standsStill";

async function makeApp(): Promise<void> {
  await cp(repositoryPath("sdks/typescript/client/dist"), repositoryPath(`${APP}/dist`), { recursive: true });
  await writeFile(repositoryPath(`${APP}/index.html`), PAGE);
}

/** As the page sees it. */
interface Db {
  readonly connection: { readonly status: string; readonly role: string; readonly message?: string };
  readonly mutate: { hit(): { until(stage: string): Promise<void> } };
  read(closure: (tx: { hits: { get(key: string): number | undefined } }) => number): Promise<number>;
}
declare const window: { db: Db };

/** How a tab is stopped; what comes back, if anything, wakes it. */
type Stop = (page: Page, context: BrowserContext) => Promise<(() => Promise<void>) | undefined>;

const STOPS: Readonly<Record<string, Stop>> = {
  "at a dialog": async (page) => {
    const shown = new Promise<() => Promise<void>>((resolve) => page.on("dialog", (dialog) => resolve(() => dialog.accept())));
    await page.evaluate("void setTimeout(() => alert('still there?'), 0)");
    return shown;
  },
  "in a loop": async (page) => {
    await page.evaluate("void setTimeout(() => { const end = Date.now() + 12_000; while (Date.now() < end); }, 0)");
    return () => Promise.resolve();
  },
  "in the debugger": async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send("Debugger.enable");
    const paused = new Promise((resolve) => session.once("Debugger.paused", resolve));
    await session.send("Debugger.pause");
    void page.evaluate("1 + 1").catch(() => undefined);
    await paused;
    return async () => void (await session.send("Debugger.resume"));
  },
  "put aside by a click that the back button undoes": async (page) => {
    await page.goto("about:blank");
    return async () => void (await page.goBack());
  },
};

describe("beside a tab that leads and stands still", () => {
  before(makeApp);

  for (const [how, stop] of Object.entries(STOPS)) {
    test(`${how} another one confirms, and both agree when it wakes`, { timeout: 90_000 }, async () => {
      const server = await startIolite({ app: APP });
      const browser = await launchChromium();
      try {
        const context = await browser.newContext();
        const open = async (): Promise<Page> => {
          const page = await context.newPage();
          await page.goto(server.origin);
          await online(page);
          return page;
        };
        const [first, second] = [await open(), await open()];
        assert.deepEqual([await roleOf(first), await roleOf(second)], ["leader", "follower"]);
        await hit(first);
        const wake = await stop(first, context);
        await hit(second);
        assert.equal(await roleOf(second), "leader");
        await wake?.();
        await online(first);
        await until("that it follows", async () => (await roleOf(first)) === "follower");
        await hit(first);
        for (const page of [first, second]) {
          assert.equal(await page.evaluate(() => window.db.read((tx) => tx.hits.get("a") ?? 0)), 3);
          assert.equal(await page.evaluate(() => window.db.connection.message), undefined);
        }
      } finally {
        await browser.close();
        await server.stop();
      }
    });
  }
});

const roleOf = (page: Page): Promise<string> => page.evaluate(() => window.db.connection.role);

const hit = (page: Page): Promise<void> => page.evaluate(() => window.db.mutate.hit().until("confirmed"));

const online = (page: Page): Promise<void> =>
  until("the connection", () => page.evaluate(() => window.db.connection.status === "online"));
