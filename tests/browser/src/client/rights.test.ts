/** A mutation that its user may not do, in a real page: it is kept with the reason, what comes after it goes on, and nobody else sees it. */

import assert from "node:assert/strict";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { before, test } from "node:test";

import { defineSchema, s, table } from "@iolite/client";
import { defineRights, everybody, user } from "@iolite/client/rights";
import type { Page } from "playwright-core";

import { launchChromium } from "../chromium.js";
import { startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { until } from "../until.js";

const schema = defineSchema({ notes: table({ id: s.string(), author: s.string(), text: s.string() }) });
const rights = defineRights(schema, {
  tables: { notes: { read: everybody, create: ({ row }) => row.author.is(user.sub) } },
});

/** The user as whom the page speaks stands in its address. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>notes</title>
<style>body { font: 16px sans-serif; max-width: 40em; margin: 2em auto } #refused { border-left: 4px solid crimson; padding-left: 1em }</style>
<script type="importmap">{ "imports": { "#platform": "/dist/platform/browser.js" } }</script>
<h1>Notes</h1><ul id="notes"></ul><p id="waiting"></p><ul id="refused" role="alert"></ul>
<script type="module">
  import { createClient, developmentServer, defineMutators, defineSchema, mutator, s, table } from "/dist/index.js";
  const schema = defineSchema({ notes: table({ id: s.string(), author: s.string(), text: s.string() }) });
  const mutators = defineMutators(schema, { write: mutator((tx, note) => tx.notes.insert(note)) });
  const { url, token } = await developmentServer();
  const sub = location.hash.slice(1);
  window.db = await createClient({ url, token, as: { sub }, name: "notes", user: sub, schema, mutators });
  const list = (id, lines) => document.querySelector(id).replaceChildren(...lines.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  db.react((tx) => tx.notes.range(), {}, ({ data }) => list("#notes", (data ?? []).map(({ author, text }) => author + ": " + text)));
  const show = () => {
    document.querySelector("#waiting").textContent = db.pending.length + " waiting";
    list("#refused", db.refused.map(({ args, reason }) => args.author + ": " + args.text + " was not taken. " + reason));
  };
  db.onPendingChange(show);
  db.onRefusedChange(show);
  show();
</script>`;

/** The page and the package, as they are served. */
const APP = "tests/browser/dist/rights";

before(async () => {
  await cp(repositoryPath("sdks/typescript/client/dist"), repositoryPath(`${APP}/dist`), { recursive: true });
  await writeFile(repositoryPath(`${APP}/index.html`), PAGE);
  await writeFile(repositoryPath(`${APP}/rights.json`), JSON.stringify(rights));
});

interface Note {
  readonly id: string;
  readonly author: string;
  readonly text: string;
}
declare const window: { db: { readonly mutate: { write(note: Note): unknown }; readonly pending: readonly unknown[] } };

test("a note in the name of somebody else is denied and kept, the next one is taken, and nobody sees the first", { timeout: 90_000 }, async () => {
  const server = await startIolite({ app: APP, rights: `${APP}/rights.json` });
  const browser = await launchChromium();
  try {
    const open = async (sub: string): Promise<Page> => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${server.origin}/#${sub}`);
      await page.waitForFunction(() => window.db !== undefined);
      return page;
    };
    const texts = (page: Page, list: string) => page.locator(`${list} li`).allTextContents();
    const [ann, ben] = [await open("ann"), await open("ben")];
    const write = (note: Note) => ann.evaluate((own) => void window.db.mutate.write(own), note);
    await write({ id: "1", author: "ben", text: "I owe Ann ten" });
    await write({ id: "2", author: "ann", text: "hello" });
    await until("the end of both", () => ann.evaluate(() => window.db.pending.length === 0));
    await until("the note at Ben", async () => (await texts(ben, "#notes")).includes("ann: hello"));
    assert.deepEqual(await texts(ben, "#notes"), ["ann: hello"]);
    assert.deepEqual(await texts(ann, "#notes"), ["ann: hello"]);
    const told = await texts(ann, "#refused");
    assert.deepEqual(told, ['ben: I owe Ann ten was not taken. denied: table "notes": the rule "create" does not let this user']);
    await mkdir(repositoryPath("test-results"), { recursive: true });
    await ann.screenshot({ path: repositoryPath("test-results/denied.png") });
  } finally {
    await browser.close();
    await server.stop();
  }
});
