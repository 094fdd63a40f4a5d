import assert from "node:assert/strict";
import { test } from "node:test";

import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { onStage, PHONE, savePicture, type Stage } from "./stage.js";

function cell(person: Visitor, at: string) {
  return person.page.locator(`[data-cell="${at}"]`);
}

async function write(person: Visitor, at: string, text: string): Promise<void> {
  const field = cell(person, at).locator("input");
  await field.fill(text);
  await field.press("Enter");
}

async function untilText(person: Visitor, at: string, text: string): Promise<void> {
  await untilEqual(`${at} at ${person.name}`, () => cell(person, at).locator("input").inputValue(), text);
}

async function untilIs(person: Visitor, at: string, what: "width" | "colour" | "waits" | "cursors", value: string): Promise<void> {
  await untilEqual(`the ${what} of ${at} at ${person.name}`, () => cell(person, at).getAttribute(`data-${what}`), value);
}

async function press(person: Visitor, at: string, ...buttons: string[]): Promise<void> {
  await cell(person, at).locator("input").click();
  for (const name of buttons) {
    await person.page.getByRole("button", { name, exact: true }).click();
  }
}

async function adaAndBen({ person }: Stage): Promise<[Visitor, Visitor]> {
  const [ada, ben] = [await person("Ada"), await person("Ben", PHONE)];
  for (const one of [ada, ben]) {
    await untilText(one, "A1", "What");
    await one.untilOnline();
  }
  return [ada, ben];
}

test("two people fill in one sheet, and each sees where the other one is", () =>
  onStage("sheet", async (stage) => {
    const [ada, ben] = await adaAndBen(stage);
    await write(ada, "A2", "Tickets");
    await untilText(ben, "A2", "Tickets");
    await untilIs(ben, "A3", "cursors", "Ada");
    await write(ben, "B2", "Ben");
    await untilText(ada, "B2", "Ben");
    await untilIs(ada, "B3", "cursors", "Ben");
    await press(ada, "A2", "Thicker", "Thicker", "Border in red");
    await untilIs(ben, "A2", "width", "2");
    await untilIs(ben, "A2", "colour", "red");
    await press(ben, "B2", "Thicker", "Border in green");
    await untilIs(ada, "B2", "colour", "green");
    await Promise.all([ada.untilPending(0), ben.untilPending(0)]);
    await savePicture(ada, "sheet");
    await savePicture(ben, "sheet-phone");
  }));

test("what two do to one border at once counts twice, and what was done without a network waits and is marked", () =>
  onStage("sheet", async (stage) => {
    const [ada, ben] = await adaAndBen(stage);
    await ada.untilServiceWorkerControls();
    await ada.cutLink();
    await untilEqual("Ada's connection", async () => (await ada.connection()) === "online", false);
    await press(ada, "C3", "Thicker", "Border in blue");
    await write(ada, "A4", "Tent");
    await untilIs(ada, "C3", "width", "1");
    await untilIs(ada, "A4", "waits", "true");
    await savePicture(ada, "sheet-cut-off");
    await press(ben, "C3", "Thicker", "Thicker");
    await untilIs(ben, "C3", "width", "2");
    await ben.untilPending(0);
    assert.equal(await cell(ben, "A4").locator("input").inputValue(), "");
    await ada.page.reload();
    await untilText(ada, "A4", "Tent");
    await untilIs(ada, "C3", "width", "1");
    await ada.mendLink();
    for (const one of [ada, ben]) {
      await untilIs(one, "C3", "width", "3");
      await untilIs(one, "C3", "colour", "blue");
      await untilText(one, "A4", "Tent");
    }
    await untilIs(ada, "A4", "waits", "false");
  }));

test("a second tab says that another one shows sheets, and goes on when that is closed", () =>
  onStage("sheet", async ({ person }) => {
    const ada = await person("Ada");
    await write(ada, "A2", "Tickets");
    await ada.untilPending(0);
    const first = ada.page;
    await ada.open();
    await ada.page.getByRole("alert").getByText("Another tab of this browser shows sheets.").waitFor();
    await savePicture(ada, "sheet-second-tab");
    await first.close();
    await untilText(ada, "A2", "Tickets");
    await write(ada, "A2", "Train");
    await ada.untilPending(0);
  }));

test("the sheet is walked and filled in by keyboard", () =>
  onStage("sheet", async ({ person }) => {
    const ada = await person("Ada");
    const { keyboard } = ada.page;
    await untilText(ada, "A1", "What");
    await cell(ada, "A1").locator("input").focus();
    const walked: (string | undefined)[] = [];
    for (const key of ["End", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"]) {
      await keyboard.press(key);
      walked.push(await ada.page.evaluate(() => (document.activeElement as HTMLElement).dataset["at"]));
    }
    assert.deepEqual(walked, ["A1", "B1", "B2", "A2", "A1"]);
    await keyboard.press("Enter");
    await keyboard.type("Tickets");
    await keyboard.press("Escape");
    await keyboard.type("Tent");
    await keyboard.press("ArrowDown");
    await untilText(ada, "A2", "Tent");
    await ada.untilPending(0);
  }));
