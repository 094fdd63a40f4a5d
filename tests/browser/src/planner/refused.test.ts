import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../until.js";
import { onStage } from "./stage.js";

test("two people spend the last of the budget while offline: one is refused, with the reason", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilServiceWorkerControls();
    await Promise.all([ada.cutLink(), ben.cutLink()]);
    const adas = await ada.add("sofa");
    const bens = await ben.add("sofa");
    await ben.untilMark(bens, "durable");

    await ada.mendLink();
    await ada.untilMark(adas, "confirmed");
    await ben.link.mend();
    const refusal = ben.page.locator("[data-refused=addPiece]");
    await refusal.waitFor({ timeout: 30_000 });
    assert.match(await refusal.innerText(), /Not done: Add Sofa\s+It costs €560, and €495 of the budget is left\./);
    await ben.untilOnline();
    await ben.piece(adas).waitFor();
    await until("Ben's sofa is gone", async () => (await ben.piece(bens).count()) === 0);
    await ben.untilPending(0);

    // It is kept until it is dismissed.
    await ben.page.reload();
    await refusal.waitFor({ timeout: 30_000 });
    await refusal.getByRole("button", { name: "Dismiss" }).click();
    await refusal.waitFor({ state: "detached" });
    assert.equal(await ada.page.locator("[data-refused]").count(), 0);
  }));

test("who moves a piece that somebody has locked meanwhile is told so", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilPending(0);
    const before = await ben.placeOf("desk-6");
    await ben.cutLink();
    await ben.press("desk-6", "ArrowDown");
    await ben.untilMark("desk-6", "durable");
    await ada.press("desk-6", "l");
    await ada.untilMark("desk-6", "confirmed");
    await ben.mendLink();
    const refusal = ben.page.locator("[data-refused=movePiece]");
    await refusal.waitFor({ timeout: 30_000 });
    assert.match(await refusal.innerText(), /Somebody has locked “Desk”\./);
    await ben.untilPlace("desk-6", before);
  }));

test("the same refusal several times over is told once, and dismissed at once", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    await ada.add("sofa");
    await ada.page.click("[data-add=sofa]");
    await ada.page.click("[data-add=sofa]");
    const refusal = ada.page.locator("[data-refused=addPiece]");
    await refusal.filter({ hasText: "Not done: Add Sofa, 2 times" }).waitFor({ timeout: 30_000 });
    assert.equal(await refusal.count(), 1);
    await refusal.getByRole("button", { name: "Dismiss" }).click();
    await refusal.waitFor({ state: "detached" });
  }));
