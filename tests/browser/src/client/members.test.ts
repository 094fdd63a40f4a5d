/** A member of a room is removed while the room is open, in two tabs and offline: the room goes from the screen and from the device's storage. */

import assert from "node:assert/strict";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { before, test } from "node:test";

import { defineLog, defineSchema, operation, s, table } from "@iolite/client";
import { defineRights, mine, user } from "@iolite/client/rights";
import type { BrowserContext, Page } from "playwright-core";

import { launchChromium } from "../chromium.js";
import { startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { until } from "../until.js";
import { Network } from "./network.js";
import { isStored } from "./stored.js";

/** The board of a room, which its members write on. */
const board = defineLog("board", { marks: table({ room: s.string(), at: s.string(), text: s.string() }).key("room", "at") }, { mark: operation(() => {}) });
const schema = defineSchema({
  rooms: table({ id: s.string(), owner: s.string() }),
  members: table({ room: s.string(), user: s.string() }).key("room", "user").index("byUser", ["user"]),
  messages: table({ id: s.string(), room: s.string(), author: s.string(), text: s.string() }).index("byRoom", ["room"]),
  ...board.tables,
});
const myRooms = mine(schema, "members", "room", { user: user.sub });
const rights = defineRights(schema, {
  tables: {
    rooms: {
      read: ({ row }) => row.id.in(myRooms),
      create: ({ row, after }) => row.owner.is(user.sub).and(after.members(row.id, user.sub).exists()),
    },
    members: {
      read: ({ row }) => row.room.in(myRooms),
      create: ({ row, after }) => after.rooms(row.room).owner.is(user.sub),
      delete: ({ old, at }) => old.user.is(user.sub).or(at.rooms(old.room).owner.is(user.sub)),
    },
    messages: {
      read: ({ row }) => row.room.in(myRooms),
      create: ({ row, at }) => row.author.is(user.sub).and(at.members(row.room, user.sub).exists()),
    },
  },
  logs: { board: { join: ({ key }) => key.in(myRooms), run: ({ key, at }) => at.members(key, user.sub).exists() } },
});

/** The user as whom the page speaks stands in its address. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>rooms</title>
<style>body { font: 16px sans-serif; max-width: 40em; margin: 2em auto } #refused { border-left: 4px solid crimson; padding-left: 1em }</style>
<script type="importmap">{ "imports": { "#platform": "/dist/platform/browser.js" } }</script>
<h1>Rooms</h1><ul id="rooms"></ul><h2>Messages</h2><ul id="messages"></ul><h2>Board</h2><ul id="board"></ul><p id="stopped"></p><p id="waiting"></p><ul id="refused" role="alert"></ul>
<script type="module">
  import { createClient, developmentServer, defineLog, defineMutators, defineSchema, mutator, operation, s, table } from "/dist/index.js";
  const board = defineLog("board", { marks: table({ room: s.string(), at: s.string(), text: s.string() }).key("room", "at") }, { mark: operation((tx, { at, text }) => { tx.marks.put({ at, text }); }) });
  const schema = defineSchema({
    rooms: table({ id: s.string(), owner: s.string() }),
    members: table({ room: s.string(), user: s.string() }).key("room", "user").index("byUser", ["user"]),
    messages: table({ id: s.string(), room: s.string(), author: s.string(), text: s.string() }).index("byRoom", ["room"]),
    ...board.tables,
  });
  const mutators = defineMutators(schema, {
    found: mutator((tx, { id, owner }) => { tx.rooms.insert({ id, owner }); tx.members.insert({ room: id, user: owner }); }),
    invite: mutator((tx, member) => tx.members.insert(member)),
    remove: mutator((tx, { room, user }) => tx.members.delete([room, user])),
    say: mutator((tx, message) => tx.messages.insert(message)),
  });
  const { url, token } = await developmentServer();
  const sub = location.hash.slice(1);
  window.db = await createClient({ url, token, as: { sub }, name: "rooms", user: sub, schema, mutators });
  const list = (id, lines) => document.querySelector(id).replaceChildren(...lines.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  db.react((tx) => tx.rooms.range(), {}, ({ data }) => list("#rooms", (data ?? []).map(({ id, owner }) => id + " of " + owner)));
  db.react((tx) => tx.messages.where({ room: "lab" }).all(), {}, ({ data }) => list("#messages", (data ?? []).map(({ author, text }) => author + ": " + text)));
  // A log is joined in the tab that leads.
  if (!location.search.includes("second")) {
    window.marks = db.log(board, "lab");
    db.react((tx) => tx.marks.range({ prefix: ["lab"] }), {}, ({ data }) => list("#board", (data ?? []).map(({ at, text }) => at + ": " + text)));
    setInterval(() => { document.querySelector("#stopped").textContent = marks.stopped ?? ""; }, 50);
  }
  const show = () => {
    document.querySelector("#waiting").textContent = db.pending.length + " waiting";
    list("#refused", db.refused.map(({ args, reason }) => args.text + " was not taken. " + reason).sort());
  };
  db.onPendingChange(show);
  db.onRefusedChange(show);
  show();
</script>`;

const APP = "tests/browser/dist/members";

before(async () => {
  await cp(repositoryPath("sdks/typescript/client/dist"), repositoryPath(`${APP}/dist`), { recursive: true });
  await writeFile(repositoryPath(`${APP}/index.html`), PAGE);
  await writeFile(repositoryPath(`${APP}/rights.json`), JSON.stringify(rights));
});

interface Member {
  readonly room: string;
  readonly user: string;
}
interface Message {
  readonly id: string;
  readonly room: string;
  readonly author: string;
  readonly text: string;
}
declare const window: {
  db: {
    readonly mutate: {
      found(room: { readonly id: string; readonly owner: string }): unknown;
      invite(member: Member): unknown;
      remove(member: Member): unknown;
      say(message: Message): unknown;
    };
    readonly pending: readonly unknown[];
  };
  marks: { readonly do: { mark(mark: { readonly at: string; readonly text: string }): unknown } };
};

const texts = (page: Page, list: string): Promise<string[]> => page.locator(`${list} li`).allTextContents();

test("a member who is removed loses the room in both tabs, on the disk, and keeps a refused message", { timeout: 120_000 }, async () => {
  const server = await startIolite({ app: APP, rights: `${APP}/rights.json` });
  const browser = await launchChromium();
  try {
    const [anns, bens, network] = [await browser.newContext(), await browser.newContext(), new Network()];
    await network.of(bens);
    const open = async (context: BrowserContext, sub: string, search = ""): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(`${server.origin}/${search}#${sub}`);
      await page.waitForFunction(() => window.db !== undefined);
      return page;
    };
    const ann = await open(anns, "ann");
    const tabs = [await open(bens, "ben"), await open(bens, "ben", "?second")];
    const untilShown = (what: string, list: string, wanted: readonly string[]) =>
      until(what, async () => (await Promise.all(tabs.map((tab) => texts(tab, list)))).every((shown) => shown.join() === wanted.join()));

    const untilBoard = (what: string, wanted: readonly string[]) => until(what, async () => (await texts(tabs[0]!, "#board")).join() === wanted.join());

    await ann.evaluate(() => void window.db.mutate.found({ id: "lab", owner: "ann" }));
    await ann.evaluate(() => void window.db.mutate.say({ id: "1", room: "lab", author: "ann", text: "the recipe is blue" }));
    await until("Ann's own room", async () => (await texts(ann, "#messages")).includes("ann: the recipe is blue"));
    await untilShown("nothing at Ben", "#rooms", []);

    const invite = () => ann.evaluate(() => void window.db.mutate.invite({ room: "lab", user: "ben" }));
    const remove = () => ann.evaluate(() => void window.db.mutate.remove({ room: "lab", user: "ben" }));
    await invite();
    await untilShown("the room in both tabs", "#rooms", ["lab of ann"]);
    await untilShown("its message in both tabs", "#messages", ["ann: the recipe is blue"]);
    await until("the message on Ben's disk", () => isStored(tabs[0]!, "the recipe is blue"));
    await ann.evaluate(() => void window.marks.do.mark({ at: "top", text: "a drawing of it" }));
    await untilBoard("the board", ["top: a drawing of it"]);
    await until("the board on Ben's disk", () => isStored(tabs[0]!, "a drawing of it"));

    await remove();
    await untilShown("the room to go", "#rooms", []);
    await untilShown("the message to go", "#messages", []);
    await untilBoard("the board to go", []);
    await until("the disk to be empty", async () => !(await isStored(tabs[0]!, "the recipe is blue")));
    await until("nothing of the board", async () => !(await isStored(tabs[0]!, "a drawing of it")));
    const why = 'log "board": the rule "join" does not let this user';
    await until("the log to say why", async () => (await tabs[0]!.locator("#stopped").innerText()).includes(why));

    await invite();
    await untilShown("the room again", "#messages", ["ann: the recipe is blue"]);
    await untilBoard("the board again", ["top: a drawing of it"]);
    await network.cut();
    await tabs[0]!.evaluate(() => void window.db.mutate.say({ id: "2", room: "lab", author: "ben", text: "it is green" }));
    await tabs[0]!.evaluate(() => void window.marks.do.mark({ at: "end", text: "a green drawing" }));
    await untilBoard("his own mark", ["end: a green drawing", "top: a drawing of it"]);
    await untilShown("his own message", "#messages", ["ann: the recipe is blue", "ben: it is green"]);
    await remove();
    await until("Ann's removal", () => ann.evaluate(() => window.db.pending.length === 0));
    network.mend();
    await untilShown("the room to go again", "#rooms", []);
    await untilShown("all messages to go", "#messages", []);
    await untilBoard("all marks to go", []);
    await until("the refusals", async () => (await texts(tabs[0]!, "#refused")).length === 2);
    const told = [
      'a green drawing was not taken. denied: log "board": the rule "join" does not let this user',
      'it is green was not taken. denied: table "messages": the rule "create" does not let this user',
    ];
    assert.deepEqual(await texts(tabs[0]!, "#refused"), told);
    await until("no mark on the disk", async () => !(await isStored(tabs[0]!, "a drawing of it")));
    await until("the disk to be empty again", async () => !(await isStored(tabs[0]!, "the recipe is blue")));
    await ann.evaluate(() => void window.db.mutate.say({ id: "3", room: "lab", author: "ann", text: "he is gone" }));
    await until("Ann's next message", () => ann.evaluate(() => window.db.pending.length === 0));
    assert.equal(await isStored(tabs[0]!, "he is gone"), false);
    assert.deepEqual(await texts(ann, "#messages"), ["ann: the recipe is blue", "ann: he is gone"]);
    await mkdir(repositoryPath("test-results"), { recursive: true });
    await tabs[0]!.screenshot({ path: repositoryPath("test-results/removed.png") });
  } finally {
    await browser.close();
    await server.stop();
  }
});
