/** Pictures of the page for people to look at: `test-results/`. What can be asserted about looks is asserted. */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";

import { assertAccessible, COLOURS, tabStops } from "../accessible.js";
import { onStage, RESULTS } from "./stage.js";
import type { Person } from "./person.js";

const DEVICES = {
  desktop: { viewport: { width: 1360, height: 860 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
} as const;

for (const colorScheme of ["light", "dark"] as const) {
  test(`the page fits desktops and phones, and shows every state, in the ${colorScheme} scheme`, () =>
    onStage(async ({ person }) => {
      await mkdir(RESULTS, { recursive: true });
      const ben = await person("Ben");
      await ben.untilReady();
      await ben.say("Does the desk go under the window?");
      await ben.say("Then the sofa has the whole wall.");
      await ben.untilPending(0);
      for (const [device, options] of Object.entries(DEVICES)) {
        const ada = await person(`Ada-${device}`, { ...options, colorScheme });
        await ada.untilReady();
        await ada.untilOnline();
        await picture(ada, `${device}-${colorScheme}-live`);
        await holdUp(ada, ben);
        await picture(ada, `${device}-${colorScheme}-undelivered`);
        ben.link.letGo();
        await takeAllStates(ada);
        await picture(ada, `${device}-${colorScheme}-cut-off`);
        if (device === "phone") {
          await openSheets(ada, colorScheme);
        }
        await ada.mendLink();
        await ada.untilPending(0);
      }
    }));
}

/** Ben does not see yet where the table is now. */
async function holdUp(ada: Person, ben: Person): Promise<void> {
  ben.link.hold();
  await ada.press("table-5", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp");
  await ada.untilMark("table-5", "undelivered");
}

async function takeAllStates(ada: Person): Promise<void> {
  await ada.cutLink();
  await ada.press("sofa-4", "ArrowLeft", "ArrowLeft");
  const lamp = await ada.add("lamp");
  await ada.untilMark(lamp, "durable");
}

async function openSheets(ada: Person, colorScheme: string): Promise<void> {
  await ada.page.click(".sync-chip");
  await picture(ada, `phone-${colorScheme}-sync`);
  await ada.page.click(".sync-chip");
  await ada.page.click(".chat-handle");
  await ada.say("On the train, no network.");
  await picture(ada, `phone-${colorScheme}-chat`);
}

async function picture(person: Person, name: string): Promise<void> {
  const { page } = person;
  await page.evaluate(() => document.fonts.ready);
  // Sheets have come to rest. Only what goes on for ever still moves.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity)
        .map((animation) => animation.finished.catch(() => undefined)),
    ),
  );
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.equal(tooWide, false, `${name} fits the screen's width`);
  await page.screenshot({ path: `${RESULTS}/${name}.png` });
  await assertAccessible(page, name, name.includes("dark") ? COLOURS : {});
}

test("everything in the planner is reached by Tab, shows the focus, and works with keys", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    const stops = await tabStops(ada.page);
    assert.ok(stops.length < 50, `${stops.length} stops`);
    for (const name of ["Name of the room", "Rooms", "Cut my network", "Open this in a second window", "Message"]) {
      assert.ok(stops.includes(name), `${name} is not among ${stops.join(" | ")}`);
    }
    await ada.press("plant-9", "ArrowUp");
    await ada.untilPending(0);
  }));
