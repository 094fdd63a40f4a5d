/** Boxes that people type into with real keys: texts with line ends of other systems, input methods, undo, and boxes that React controls. */

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import type { Browser, CDPSession, Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { type IoliteServer, startIolite } from "./ioliteServer.js";
import { type PageWatch, watch } from "./pageWatch.js";
import { untilEqual } from "./until.js";

interface Client {
  readonly connection: { readonly status: string };
  readonly mutate: Record<string, (args: unknown) => { until(stage: string): Promise<void> }>;
  read<T>(closure: (tx: { notes: { get(id: number): { title: string; body: string; done: boolean } } }) => T): Promise<T>;
  peek<T>(closure: (tx: { cents: { get(id: number): { amount: number } } }) => T): T;
  observe<T>(closure: (tx: { cents: { range(): readonly { amount: number }[] } }) => T): { readonly state: { readonly data: T } };
  settled(): Promise<void>;
}

declare const db: Client;
declare function show(note: number): void;

let server: IoliteServer;
let browser: Browser;
const watches: PageWatch[] = [];
/** The note that is shown: each case has one of its own. */
let note = 0;

before(async () => {
  server = await startIolite({ app: "tests/browser/dist/pages/boxes" });
  browser = await launchChromium();
});

afterEach(() => {
  assert.deepEqual(watches.splice(0).flatMap((watched) => [...watched.problems()]), [], "problems in the pages");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens the page as somebody with a browser of their own. */
async function opened(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  watches.push(watch(page));
  await page.goto(server.origin);
  await page.waitForFunction(() => typeof db !== "undefined" && db.connection.status === "online");
  return page;
}

interface Content {
  readonly title?: string;
  readonly body?: string;
}

/** Shows a new note with this content in a page. */
async function showNew(page: Page, content: Content): Promise<void> {
  note += 1;
  await page.evaluate((args) => db.mutate["note"]?.(args).until("confirmed"), { id: note, title: "", body: "", ...content });
  await showNote(page);
}

async function showNote(page: Page): Promise<void> {
  await page.evaluate((id) => show(id), note);
  await page.waitForFunction(() => document.querySelector("textarea")?.disabled === false);
}

async function openedOn(content: Content): Promise<Page> {
  const page = await opened();
  await showNew(page, content);
  return page;
}

/** Somebody else opens the same note. */
async function openedBeside(): Promise<Page> {
  const page = await opened();
  await showNote(page);
  return page;
}

const bodyOf = (page: Page): Promise<string> => page.evaluate((id) => db.read((tx) => tx.notes.get(id).body), note);
const titleOf = (page: Page): Promise<string> => page.evaluate((id) => db.read((tx) => tx.notes.get(id).title), note);
const shownIn = (page: Page, box: string): Promise<string> => page.locator(box).inputValue();
const caretOf = (page: Page, box: string): Promise<number> => page.evaluate((at) => (document.querySelector(at) as HTMLInputElement).selectionStart ?? -1, box);

async function press(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
}

test("real keys edit a text with \\r\\n at the caret, and remove a line end as a whole", async () => {
  const page = await openedOn({ body: "l1\r\nl2\r\nl3" });
  await page.focus("#area");
  await press(page, ["Control+Home", "ArrowDown", "End", "X"]);
  assert.equal(await bodyOf(page), "l1\r\nl2X\r\nl3");
  await press(page, ["Backspace", "Home", "Backspace"]);
  assert.equal(await bodyOf(page), "l1l2\r\nl3");
  assert.deepEqual([await shownIn(page, "#area"), await caretOf(page, "#area")], ["l1l2\nl3", 2]);
  await press(page, ["Control+z"]);
  await untilEqual("the text behind an undo", async () => (await bodyOf(page)).replaceAll("\r\n", "\n"), await shownIn(page, "#area"));
  await press(page, ["Control+a", "Delete"]);
  assert.deepEqual([await bodyOf(page), await shownIn(page, "#area")], ["", ""]);
});

test("real keys beside line ends of other systems do what the box shows", async () => {
  const page = await opened();
  for (const [body, keys, expected] of [
    ["\r\n", ["Control+Home", "Delete"], ""],
    ["\r\n", ["Control+End", "Backspace"], ""],
    ["\r\na\r\n", ["Control+Home", "Delete", "Control+End", "Backspace"], "a"],
    ["a\rb", ["Control+Home", "ArrowDown", "Backspace"], "ab"],
    ["a\rb", ["Control+Home", "ArrowDown", "Enter"], "a\n\nb"],
    ["\u{1fa91}\r\n\u{1fa91}\r\n", ["Control+Home", "End", "X", "Delete"], "\u{1fa91}X\u{1fa91}\r\n"],
    ["\u{1fa91}\r\n\u{1fa91}\r\n", ["Control+End", "Backspace", "Backspace", "Backspace"], "\u{1fa91}"],
  ] as const) {
    await showNew(page, { body });
    await page.focus("#area");
    await press(page, keys);
    const after = [await bodyOf(page), await shownIn(page, "#area")];
    assert.deepEqual(after, [expected, expected.replace(/\r\n?/g, "\n")], `${JSON.stringify(body)}: ${keys.join(" ")}`);
  }
});

test("what is pasted from another system goes to the caret between its line ends", async () => {
  const page = await openedOn({ body: "a\r\nb\r\n" });
  await page.focus("#area");
  await press(page, ["Control+Home", "ArrowDown", "End"]);
  await page.evaluate(() => document.execCommand("insertText", false, "1\r\n2\r3"));
  assert.deepEqual([await bodyOf(page), await shownIn(page, "#area")], ["a\r\nb1\n2\n3\r\n", "a\nb1\n2\n3\n"]);
});

test("what an input method composes goes to its place in a text with \\r\\n, also while somebody else types", async () => {
  const page = await openedOn({ body: "a\r\nb\r\nc" });
  const other = await openedBeside();
  await page.focus("#area");
  await press(page, ["Control+Home", "ArrowDown", "End"]);
  const session: CDPSession = await page.context().newCDPSession(page);
  const compose = (text: string): Promise<unknown> =>
    session.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  await compose("n");
  await compose("ni");
  await other.focus("#area");
  await press(other, ["Control+Home", "0", "Enter"]);
  await untilEqual("what the other one typed", () => bodyOf(page), "0\na\r\nbni\r\nc");
  await session.send("Input.insertText", { text: "\u4f60" });
  await untilEqual("the text", () => bodyOf(page), "0\na\r\nb\u4f60\r\nc");
  await untilEqual("the other one's box", () => shownIn(other, "#area"), "0\na\nb\u4f60\nc");
  assert.deepEqual([await shownIn(page, "#area"), await caretOf(page, "#area")], ["0\na\nb\u4f60\nc", 6]);
});

test("two who type into a text with \\r\\n at once lose nothing, and part no line end", async () => {
  const pages = [await openedOn({ body: "one\r\ntwo\r\nthree\r\n" }), await openedBeside()] as const;
  const type = async (page: Page, down: number, letters: string): Promise<void> => {
    await page.focus("#area");
    await press(page, ["Control+Home", ...Array<string>(down).fill("ArrowDown"), "End"]);
    await page.keyboard.type(letters);
  };
  await Promise.all([type(pages[0], 0, "ABCDEFGH"), type(pages[1], 1, "12345678")]);
  for (const page of pages) {
    await untilEqual("the text", () => bodyOf(page), "oneABCDEFGH\r\ntwo12345678\r\nthree\r\n");
    await untilEqual("the box", () => shownIn(page, "#area"), "oneABCDEFGH\ntwo12345678\nthree\n");
  }
});

test("a box of one line edits a text of several lines and loses none", async () => {
  const page = await openedOn({ title: "one\r\ntwo\n" });
  assert.equal(await shownIn(page, "#box"), "onetwo");
  await page.focus("#box");
  await press(page, ["End", "!", "Home", "Delete"]);
  assert.deepEqual([await titleOf(page), await shownIn(page, "#box")], ["ne\r\ntwo!\n", "netwo!"]);
  await press(page, ["Control+a", "x"]);
  assert.deepEqual([await titleOf(page), await shownIn(page, "#box")], ["x", "x"]);
});

for (const box of ["#controlled", "#box"]) {
  test(`the caret stays where it is typed in ${box}, and an input method composes there`, async () => {
    const page = await openedOn({ title: "world" });
    await page.focus(box);
    await press(page, ["Home"]);
    await page.keyboard.type("hello ");
    assert.deepEqual([await shownIn(page, box), await caretOf(page, box), await titleOf(page)], ["hello world", 6, "hello world"]);
    const session = await page.context().newCDPSession(page);
    for (const text of ["n", "ni", "\u4f60"]) {
      await session.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
    }
    await session.send("Input.insertText", { text: "\u4f60" });
    assert.deepEqual([await shownIn(page, box), await caretOf(page, box), await titleOf(page)], ["hello \u4f60world", 7, "hello \u4f60world"]);
  });
}

test("a check box shows what it was set to when its event is over", async () => {
  const page = await openedOn({});
  const shown = await page.evaluate(() => {
    const box = document.querySelector<HTMLInputElement>("#check");
    box?.click();
    return box?.checked;
  });
  assert.equal(shown, true);
  assert.equal(await page.evaluate((id) => db.read((tx) => tx.notes.get(id).done), note), true);
});

test("a sum over 10,000 rows runs once for the calls of a frame, and in none of them", async () => {
  const page = await openedOn({});
  const counted = await page.evaluate(async () => {
    for (let from = 0; from < 10_000; from += 1000) {
      await db.mutate["fill"]?.({ from, count: 1000 }).until("confirmed");
    }
    let runs = 0;
    const observation = db.observe((tx) => {
      runs += 1;
      return tx.cents.range().reduce((sum, { amount }) => sum + amount, 0);
    });
    while (observation.state.data !== 10_000) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await db.settled();
    runs = 0;
    for (let id = 0; id < 5; id += 1) {
      db.mutate["put"]?.({ id, amount: 2 });
    }
    const inside = runs;
    // Its own callback comes behind that of the client.
    await new Promise((resolve) => requestAnimationFrame(resolve));
    return [inside, runs, observation.state.data];
  });
  assert.deepEqual(counted, [0, 1, 10_005]);
});
