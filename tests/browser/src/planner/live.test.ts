import assert from "node:assert/strict";
import { test } from "node:test";

import { until, untilEqual } from "../until.js";
import { onStage } from "./stage.js";
import type { Person } from "./person.js";

test("each sees the other's furniture and messages live, and furniture also while it is dragged", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await Promise.all([ada.untilOnline(), ben.untilOnline()]);

    const steps = await stepsSeen(ben, "sofa-4");
    const from = await ada.placeOf("sofa-4");
    await drag(ada, "sofa-4", -40, -60);
    const to = await ada.placeOf("sofa-4");
    assert.notDeepEqual(to, from);
    await ben.untilPlace("sofa-4", to);
    await ada.untilMark("sofa-4", "confirmed");
    assert.ok((await steps()) > 1, "Ben saw the sofa on its way");

    await ben.press("chair-7", "r", "ArrowLeft");
    const chair = await ben.placeOf("chair-7");
    await ada.untilPlace("chair-7", chair);

    await ben.say("Does the desk go under the window?");
    await ada.untilMessage("Does the desk go under the window?", "confirmed");
    await ada.say("Yes, please.");
    await ben.untilMessage("Yes, please.", "confirmed");
    await ada.untilMessage("Yes, please.", "confirmed");

    await Promise.all([ada.like(), ben.like()]);
    await Promise.all([ada.untilLikes(2), ben.untilLikes(2)]);
  }));

test("two people change different properties of one piece at once, and both changes hold", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await Promise.all([ada.cutLink(), ben.cutLink()]);
    await ada.press("table-5", "ArrowUp", "ArrowUp");
    await ben.piece("table-5").focus();
    await ben.page.getByRole("button", { name: "clay" }).click();
    const moved = await ada.placeOf("table-5");
    await Promise.all([ada.mendLink(), ben.mendLink()]);
    for (const one of [ada, ben]) {
      await one.untilPending(0);
      await one.untilPlace("table-5", moved);
      await until("the table is painted", () => one.page.locator("[data-piece=table-5].colour-clay").count());
      assert.equal(await one.page.locator("[data-refused]").count(), 0);
    }
  }));

test("a finger drags furniture on a phone", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilOnline();
    const from = await ada.placeOf("plant-9");
    await swipe(ada, "plant-9", -60, -30);
    const to = await ada.placeOf("plant-9");
    assert.notDeepEqual(to, from);
    await ben.untilPlace("plant-9", to);
    await untilEqual("what is pending", () => ada.pending(), 0);
  }));

/** Counts the places that somebody sees a piece at. */
async function stepsSeen(person: Person, id: string): Promise<() => Promise<number>> {
  await person.piece(id).evaluate((piece) => {
    let steps = 0;
    const observer = new MutationObserver(() => piece.setAttribute("data-steps", String((steps += 1))));
    observer.observe(piece, { attributeFilter: ["data-x", "data-y"] });
  });
  return async () => Number(await person.piece(id).getAttribute("data-steps"));
}

const DRAG_STEPS = 24;

async function drag(person: Person, id: string, dx: number, dy: number): Promise<void> {
  const { mouse } = person.page;
  const at = await centreOf(person, id);
  await mouse.move(at.x, at.y);
  await mouse.down();
  for (let step = 1; step <= DRAG_STEPS; step += 1) {
    await mouse.move(at.x + (dx * step) / DRAG_STEPS, at.y + (dy * step) / DRAG_STEPS);
    // A person's hand is not faster than the screen.
    await person.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  }
  await mouse.up();
}

async function swipe(person: Person, id: string, dx: number, dy: number): Promise<void> {
  const session = await person.context.newCDPSession(person.page);
  const at = await centreOf(person, id);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", touchPoints: { x: number; y: number }[]) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints });
  await touch("touchStart", [at]);
  for (let step = 1; step <= DRAG_STEPS; step += 1) {
    await touch("touchMove", [{ x: at.x + (dx * step) / DRAG_STEPS, y: at.y + (dy * step) / DRAG_STEPS }]);
  }
  await touch("touchEnd", []);
}

async function centreOf(person: Person, id: string): Promise<{ x: number; y: number }> {
  const box = await person.piece(id).locator(".turned").boundingBox();
  assert.ok(box !== null, `${id} is on the screen`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}
