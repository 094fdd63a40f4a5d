/** The examples without a mouse: what they are for can be done with the keyboard alone, and the way is short. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { tabStops, tabTo } from "../accessible.js";
import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { untilLine } from "./chatters.js";
import { onStage } from "./stage.js";

function focusedAt(person: Visitor): Promise<string | null> {
  return person.page.evaluate(() => document.activeElement?.getAttribute("data-at") ?? null);
}

/** Waits until the control can be used: a disabled one is no stop of Tab. */
async function untilShown(person: Visitor, role: "button" | "textbox" | "switch", name: string): Promise<void> {
  await person.page.getByRole(role, { name, disabled: false }).waitFor();
}

test("the word board is one stop of Tab, is walked by arrow keys, and is played by typing", () =>
  onStage("word-board", async ({ person }) => {
    const ada = await person("Ada");
    const { keyboard } = ada.page;
    await untilShown(ada, "button", "Take a seat");
    assert.deepEqual(await tabStops(ada.page), [
      "Cut my network",
      "Your name",
      "Take a seat",
      "Start, double word, row 6, column 6",
      "How to play",
      "Open this in a second window",
    ]);
    await tabTo(ada.page, "Take a seat");
    await keyboard.press("Enter");
    await ada.page.locator("[data-tile]").nth(6).waitFor();

    await tabTo(ada.page, "Start, double word, row 6, column 6");
    const walked: (string | null)[] = [];
    for (const keys of ["ArrowRight", "ArrowDown", "Home", "ArrowLeft", "End", "Control+Home", "ArrowUp", "Control+End"]) {
      await keyboard.press(keys);
      walked.push(await focusedAt(ada));
    }
    assert.deepEqual(walked, ["61", "72", "66", "66", "76", "0", "0", "120"]);

    const letter = (await ada.page.locator("[data-tile]").first().getAttribute("data-tile")) ?? "";
    await keyboard.press("Control+Home");
    await keyboard.press(letter.toLowerCase());
    await untilEqual("the corner", () => ada.page.locator('[data-at="0"]').getAttribute("data-letter"), letter);
    await keyboard.press("Enter");
    await untilEqual("the corner", () => ada.page.locator('[data-at="0"]').getAttribute("data-letter"), "");
  }));

test("whoever begins anew is asked first, and the others see an empty board with new tiles", () =>
  onStage("word-board", async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    for (const one of [ada, ben]) {
      await one.page.getByRole("button", { name: "Take a seat" }).click();
      await one.page.locator("[data-tile]").nth(6).waitFor();
    }
    await untilEqual("whose turn it is", () => ben.page.locator(".turn").innerText(), "It is Ada's turn.");
    for (const at of [60, 61]) {
      await ada.page.locator("[data-tile]").first().click();
      await ada.page.locator(`[data-at="${at}"]`).click();
      await untilEqual("tiles left", async () => ada.page.locator(`[data-at="${at}"]`).getAttribute("data-letter").then((letter) => letter !== ""), true);
    }
    await ada.page.getByRole("button", { name: "Finish word" }).click();
    await untilEqual("whose turn it is", () => ada.page.locator(".turn").innerText(), "It is Ben's turn.");

    const { keyboard } = ada.page;
    await tabTo(ada.page, "Begin anew");
    await keyboard.press("Enter");
    await keyboard.press("Escape");
    assert.equal(await ada.page.evaluate(() => document.activeElement?.textContent), "Begin anew", "the focus comes back to the button");
    await keyboard.press("Enter");
    await tabTo(ada.page, "Clear the board");
    await keyboard.press("Enter");
    await untilEqual("Ben's news", async () => (await ben.page.locator(".news").innerText()).startsWith("Ada began anew"), true);
    for (const one of [ada, ben]) {
      await untilEqual("tiles on the board", () => one.page.locator('[data-at]:not([data-letter=""])').count(), 0);
      await untilEqual("scores", () => one.page.locator('[data-player]:not([data-score="0"])').count(), 0);
      await untilEqual("tiles", () => one.page.locator("[data-tile]").count(), 7);
    }
    await untilEqual("whose turn it is", async () => (await ada.page.locator(".turn").innerText()).startsWith("It is your turn"), true);
    assert.match(await ada.page.locator(".news").innerText(), /84 tiles left/);
  }));

test("the chat is talked in, given a room, and cut off, by keyboard", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    const { keyboard } = ada.page;
    await ada.untilOnline();
    await untilShown(ada, "textbox", "Message");
    assert.deepEqual(await tabStops(ada.page), [
      "lobby",
      "New room",
      "Open this in a second window",
      "Cut my network",
      "Messages",
      "Your name",
      "Message",
    ]);
    await tabTo(ada.page, "New room");
    await keyboard.press("Enter");
    await keyboard.type("Day trips");
    await keyboard.press("Enter");
    await untilEqual("the open room", () => ada.page.getByRole("heading", { level: 1 }).innerText(), "Day trips");
    await tabTo(ada.page, "Message");
    await keyboard.type("The lake?");
    await keyboard.press("Enter");
    await untilLine(ada, "The lake?", "sent");
    await tabTo(ada.page, "Cut my network");
    await keyboard.press("Space");
    await untilEqual("Ada's connection", () => ada.connection(), "offline");
    assert.equal(await ada.page.locator("[data-connection]").getAttribute("role"), "status", "the status is no switch");
    await keyboard.press("Space");
    await ada.untilOnline();
  }));

test("murmur is entered, written in and followed in by keyboard", () =>
  onStage("murmur", async ({ person }) => {
    const [ada, ben] = [await person("ada"), await person("ben")];
    for (const one of [ada, ben]) {
      await untilShown(one, "textbox", "Your name");
      assert.deepEqual(await tabStops(one.page), ["Murmur", "Cut my network", "Your name", "Open this in a second window"]);
      await tabTo(one.page, "Your name");
      await one.page.keyboard.type(one.name);
      await one.page.keyboard.press("Enter");
      await untilShown(one, "textbox", "Post");
    }
    await untilShown(ben, "button", "Follow ada");
    await tabTo(ben.page, "Follow ada");
    await ben.page.keyboard.press("Space");
    await ben.untilPending(0);
    await tabTo(ada.page, "Post");
    await ada.page.keyboard.type("Snow!");
    await tabTo(ada.page, "Post");
    await ada.page.keyboard.press("Tab");
    await ada.page.keyboard.press("Enter");
    await ben.page.locator('[data-post="Snow!"]').waitFor();
    await tabTo(ben.page, /^Like/);
    await ben.page.keyboard.press("Enter");
    await ada.page.getByRole("button", { name: "Like, 1 so far" }).waitFor();
  }));

test("passwords are added, searched and changed by keyboard", () =>
  onStage("passwords", async ({ person }) => {
    const ada = await person("Ada");
    const { keyboard } = ada.page;
    await untilShown(ada, "button", "Add account");
    assert.deepEqual(await tabStops(ada.page), ["Cut my network", "An account a row", "All in one blob", "Search accounts", "Add account"]);
    for (const name of ["Bank", "Library"]) {
      await tabTo(ada.page, "Add account");
      await keyboard.press("Enter");
      await keyboard.type(name);
      await keyboard.press("Enter");
      await ada.page.locator(`[data-account="${name}"]`).waitFor();
    }
    assert.equal(await ada.page.evaluate(() => document.activeElement?.textContent), "Add account", "the focus comes back to the button");
    await keyboard.press("Shift+Tab");
    await keyboard.type("lib");
    await untilEqual("accounts", () => ada.page.locator("[data-account]").count(), 1);
    // Its mark follows the name while it is not sent, and the button beside it ends with the name too.
    await tabTo(ada.page, /^LLibrary/);
    await keyboard.press("Enter");
    await tabTo(ada.page, "User");
    await keyboard.type("ada");
    await keyboard.press("Enter");
    await untilEqual("the user", () => ada.page.locator(".names span").innerText(), "ada");
  }));

test("a wall is entered, written on and cleaned, and a friend is made, by keyboard", () =>
  onStage("wall", async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    await untilShown(ada, "textbox", "Your name");
    assert.deepEqual(await tabStops(ada.page), ["Wall", "Cut my network", "Your name", "Open this in a second window"]);
    for (const one of [ada, ben]) {
      await untilShown(one, "textbox", "Your name");
      await tabTo(one.page, "Your name");
      await one.page.keyboard.type(one.name);
      await one.page.keyboard.press("Enter");
      await untilShown(one, "textbox", "Your status");
    }
    await ben.page.getByRole("link", { name: "Ada" }).waitFor();
    // The way goes on where the door was.
    assert.deepEqual(await tabStops(ben.page), [
      "Your status",
      "Write on your wall",
      "AAda",
      "BBen",
      "Be somebody else",
      "Open this in a second window",
      "Plan an event",
    ]);
    await tabTo(ben.page, /Ada$/);
    await ben.page.keyboard.press("Enter");
    await untilShown(ben, "button", "Ask Ada to be my friend");
    await tabTo(ben.page, "Ask Ada to be my friend");
    await ben.page.keyboard.press("Space");
    await tabTo(ben.page, "Write on the wall of Ada");
    await ben.page.keyboard.type("Snow!");
    await ben.page.keyboard.press("Tab");
    await ben.page.keyboard.press("Enter");
    await untilShown(ada, "button", "Accept Ben");
    await tabTo(ada.page, "Accept Ben");
    await ada.page.keyboard.press("Enter");
    await ben.page.locator('[data-friend="ben"]').waitFor();
    await ada.page.locator('[data-post="Snow!"]').waitFor();
    await tabTo(ada.page, "Delete “Snow!”");
    await ada.page.keyboard.press("Enter");
    await ben.page.locator('[data-post="Snow!"]').waitFor({ state: "detached" });
    assert.equal(await ada.page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "The wall of Ada", "the focus stays at the wall");
    await tabTo(ada.page, "Your status");
    await ada.page.keyboard.type("Out in the snow");
    await ada.page.keyboard.press("Enter");
    await ben.page.locator('[data-status="Out in the snow"]').waitFor();
  }));
