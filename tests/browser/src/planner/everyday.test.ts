import assert from "node:assert/strict";
import { test } from "node:test";

import { until, untilEqual } from "../until.js";
import type { Person } from "./person.js";
import { onStage } from "./stage.js";

test("rooms, tags, names, measures and budget are shared, and refuse what does not fit", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await Promise.all([enter(ada, "New tag", "cosy"), enter(ben, "New tag", "small")]);
    for (const one of [ada, ben]) {
      await one.page.locator("[data-tag=cosy]").waitFor();
      await one.page.locator("[data-tag=small]").waitFor();
    }
    await ben.page.getByRole("button", { name: "Take away the tag cosy" }).click();
    await ada.page.locator("[data-tag=cosy]").waitFor({ state: "detached" });

    await enter(ada, "Name of the room", "Den");
    await enter(ada, "Width in metres", "6,04");
    await untilEqual("the width", () => field(ben, "Width in metres").inputValue(), "6.0");
    await untilEqual("the room's name", () => field(ben, "Name of the room").inputValue(), "Den");

    await enter(ada, "Budget in euros", "100");
    await ada.page.locator("[data-refused=setBudget]").getByText("€1,545 is spent already, more than €100.").waitFor();
    await untilEqual("the budget", () => field(ada, "Budget in euros").inputValue(), "€2,600");

    await ada.page.getByRole("button", { name: "Rooms" }).click();
    await ada.page.getByRole("button", { name: "New room" }).click();
    await until("Ada is in the new room", async () => (await ada.page.locator("[data-piece]").count()) === 0);
    await ada.untilPending(0);
    await ben.page.getByRole("button", { name: "Rooms" }).click();
    await ben.page.getByRole("link", { name: "Room 2" }).click();
    await untilEqual("the room's name", () => field(ben, "Name of the room").inputValue(), "Room 2");
    assert.equal(new URL(ben.page.url()).hash, new URL(ada.page.url()).hash);
  }));

test("furniture is added, turned, painted, named, duplicated, locked and removed, and each of it can be undone", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    const undo = (): Promise<void> => ada.page.getByRole("button", { name: "Undo" }).click();
    const count = (one: Person): Promise<number> => one.page.locator("[data-piece]").count();
    const before = await count(ben);

    const bed = await ada.add("bed");
    await enter(ada, "Name of this piece", "Guest bed");
    await ben.page.locator(`[data-piece="${bed}"]`).getByText("Guest bed").waitFor();
    await ada.page.getByRole("button", { name: "Duplicate" }).click();
    await untilEqual("the pieces at Ben", () => count(ben), before + 2);
    await undo();
    await untilEqual("the pieces at Ben", () => count(ben), before + 1);

    await ada.press(bed, "l");
    await ben.page.locator(`[data-piece="${bed}"] .padlock`).waitFor();
    const place = await ada.placeOf(bed);
    await ada.press(bed, "Delete");
    assert.equal(await ada.piece(bed).count(), 1, "what is locked stays");
    await ada.press(bed, "l", "ArrowLeft");
    await ben.untilPlace(bed, { x: place.x - 10, y: place.y });
    await undo();
    await ben.untilPlace(bed, place);

    await ada.press(bed, "Delete");
    await untilEqual("the pieces at Ben", () => count(ben), before);
    await undo();
    await ben.page.locator(`[data-piece="${bed}"]`).getByText("Guest bed").waitFor();
    await ada.untilPending(0);
    assert.equal(await ben.page.locator("[data-spent]").getAttribute("data-spent"), "1965");
  }));

test("the chat keeps still while one reads further up, and marks what is new", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    for (let count = 1; count <= 70; count += 1) {
      await ada.say(`Line ${count}.`);
    }
    await ada.untilPending(0);
    const list = ben.page.getByRole("list", { name: "Messages" });
    await ben.message("Line 70.").waitFor();
    const fromEnd = (): Promise<number> => list.evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight);
    await until("the end is in view", async () => (await fromEnd()) < 2);

    await list.evaluate((it) => (it.scrollTop = 100));
    const newer = ben.page.getByRole("button", { name: "1 new" });
    const top = (): Promise<number | undefined> => ben.message("Line 20.").boundingBox().then((box) => box?.y);
    await ben.page.getByRole("button", { name: "To the end" }).waitFor();
    const still = await top();
    await ada.say("Something new.");
    await newer.waitFor();
    assert.equal(await top(), still);
    await newer.click();
    await until("the end is in view", async () => (await fromEnd()) < 2);
    await ben.page.locator(".new-marker").waitFor();

    await list.evaluate((it) => (it.scrollTop = 0));
    const first = await ben.message("Line 13.").boundingBox();
    await ben.page.getByRole("button", { name: "Earlier messages" }).click();
    await ben.message("Line 1.").waitFor();
    const after = await ben.message("Line 13.").boundingBox();
    assert.ok(first !== null && after !== null && Math.abs(first.y - after.y) < 40, "what one reads stays in its place");
  }));

function field(person: Person, label: string) {
  return person.page.getByRole("textbox", { name: label });
}

async function enter(person: Person, label: string, text: string): Promise<void> {
  await field(person, label).fill(text);
  await field(person, label).press("Enter");
}
