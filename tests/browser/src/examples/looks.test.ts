/** Pictures of the pages for people to look at: `test-results/`. What can be asserted about looks is asserted, by axe too. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible, COLOURS } from "../accessible.js";
import type { Visitor } from "../visitor.js";
import { say } from "./chatters.js";
import { onStage, PHONE, savePicture } from "./stage.js";

const LONG = "A_word_that_is_far_too_long_for_the_screen_of_any_phone_that_somebody_may_hold_in_one_hand";

/** Brings somebody to where the page has something to show. */
const APPS: Record<string, (person: Visitor) => Promise<void>> = {
  chat: async (person) => {
    await say(person, "Shall we meet at the lake?");
    await say(person, LONG);
    await person.untilPending(0);
  },
  "word-board": async (person) => {
    await person.page.getByRole("button", { name: "Take a seat" }).click();
    await person.page.locator("[data-tile]").first().waitFor();
    await person.untilPending(0);
  },
  sheet: async (person) => {
    const [first, second] = [person.page.locator('[data-at="A2"]'), person.page.locator('[data-at="B2"]')];
    await first.fill(LONG);
    await first.press("Enter");
    await second.fill("Ada");
    await person.page.getByRole("button", { name: "Thicker" }).click();
    await person.page.getByRole("button", { name: "Border in red" }).click();
    await person.untilPending(0);
  },
  murmur: async (person) => {
    await person.page.getByRole("textbox", { name: "Your name" }).fill("ada");
    await person.page.getByRole("button", { name: "Enter" }).click();
    await person.page.getByRole("textbox", { name: "Post" }).fill(LONG);
    await person.page.getByRole("button", { name: "Post" }).click();
    await person.page.locator("[data-mark=sent]").first().waitFor();
  },
  wall: async (person) => {
    await person.page.getByRole("textbox", { name: "Your name" }).fill("Ada");
    await person.page.getByRole("button", { name: "Enter" }).click();
    await person.page.getByRole("textbox", { name: "Write on your wall" }).fill(LONG);
    await person.page.getByRole("button", { name: "Write" }).click();
    await person.page.locator("[data-post] [data-mark=confirmed]").first().waitFor();
  },
};

const OTHER = { light: "dark", dark: "light" } as const;

for (const [app, arrive] of Object.entries(APPS)) {
  test(`the page of ${app} fits desktops and phones, in both schemes, and axe finds nothing in it`, () =>
    onStage(app, async ({ person }) => {
      const ada = await person("Ada", { colorScheme: "light" });
      if (app !== "sheet") {
        await assertSecondWindow(ada);
      }
      await lookAt(ada, `${app}-desktop`, "light", arrive);
      await lookAt(await person("Ada", { ...PHONE, colorScheme: "dark" }), `${app}-phone`, "dark", arrive);
    }));
}

/** Connected in one scheme, for all rules of axe, and cut off in the other, for colours: each look takes axe a second or two. And pictures of all four. */
async function lookAt(ada: Visitor, name: string, scheme: "light" | "dark", arrive: (person: Visitor) => Promise<void>): Promise<void> {
  const { page } = ada;
  const other = OTHER[scheme];
  await arrive(ada);
  await savePicture(ada, `${name}-${scheme}`);
  const past = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(past, 0, `${name} is ${past} pixels wider than its screen`);
  await assertAccessible(page, `${name}-${scheme}`);
  await page.emulateMedia({ colorScheme: other });
  await savePicture(ada, `${name}-${other}`);
  await cutOff(ada);
  await savePicture(ada, `${name}-${other}-cut-off`);
  await assertAccessible(page, `${name}-${other}-cut-off`, COLOURS);
  await page.emulateMedia({ colorScheme: scheme });
  await savePicture(ada, `${name}-${scheme}-cut-off`);
}

/** As one comes to a page, it says how to see that it is shared. A sheet is shown by one tab of a browser. */
async function assertSecondWindow(person: Visitor): Promise<void> {
  await person.page.getByRole("link", { name: "Open this in a second window" }).first().waitFor();
}

/** By the page's own switch, which stands apart from the status. */
async function cutOff(person: Visitor): Promise<void> {
  await person.page.getByRole("switch", { name: "Cut my network" }).click();
  await person.page.getByRole("status").filter({ hasText: "Cut off" }).waitFor();
}
