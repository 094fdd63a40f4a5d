/** Walls that two devices write without a network, and walls on several data centres: nothing is in conflict, and all come to show the same. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible } from "../accessible.js";
import { onStageOf } from "../stage.js";
import { untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { startCentres } from "./centres.js";
import { onStage, PHONE, savePicture } from "./stage.js";

const NARROW = { ...PHONE, viewport: { width: 360, height: 740 } };

/** All that a wall shows. */
interface Shown {
  readonly visits: string;
  readonly friends: readonly string[];
  readonly status: string;
  /** The newest first. */
  readonly posts: readonly string[];
}

async function enter(person: Visitor, name: string): Promise<void> {
  await person.page.getByRole("textbox", { name: "Your name" }).fill(name);
  await person.page.getByRole("button", { name: "Enter" }).click();
}

async function leave(person: Visitor): Promise<void> {
  await person.page.getByRole("button", { name: "Be somebody else" }).click();
}

async function visit(person: Visitor, name: string): Promise<void> {
  await person.page.getByRole("complementary", { name: "People" }).getByRole("link", { name }).click();
  await person.page.getByRole("heading", { name, level: 1 }).waitFor();
}

async function write(person: Visitor, text: string): Promise<void> {
  await person.page.getByRole("textbox", { name: /^Write on/ }).fill(text);
  await person.page.getByRole("button", { name: "Write" }).click();
}

async function say(person: Visitor, status: string): Promise<void> {
  const own = person.page.getByRole("textbox", { name: "Your status" });
  await own.fill(status);
  await own.press("Enter");
}

async function untilWall(person: Visitor, wanted: Shown): Promise<void> {
  const shown = (): Promise<string> =>
    person.page.locator("main").evaluate((main) => {
      const values = (name: string): string[] => [...main.querySelectorAll(`[data-${name}]`)].map((one) => one.getAttribute(`data-${name}`) ?? "");
      const [[visits], [status]] = [values("visits"), values("status")];
      return JSON.stringify({ visits, friends: values("friend"), status, posts: values("post") });
    });
  await untilEqual(`the wall at ${person.name}`, shown, JSON.stringify(wanted));
}

async function untilMarks(person: Visitor, mark: string, count: number): Promise<void> {
  await untilEqual(`what is ${mark} at ${person.name}`, () => person.page.locator(`main [data-mark=${mark}]`).count(), count);
}

async function cutOff(person: Visitor): Promise<void> {
  await person.untilServiceWorkerControls();
  await person.untilPending(0);
  await person.cutLink();
  await untilEqual(`${person.name}'s connection`, async () => (await person.connection()) === "online", false);
}

/** All that a device can do to Ada: as her visitor, and as herself. */
async function changeAda(person: Visitor): Promise<void> {
  const { name, page } = person;
  await visit(person, "Ada");
  await page.getByRole("button", { name: "Ask Ada to be my friend" }).click();
  await write(person, `${name} greets Ada.`);
  await leave(person);
  await page.getByRole("list", { name: "People who are here" }).getByRole("button", { name: "Ada" }).click();
  await page.getByRole("button", { name: `Accept ${name}` }).click();
  await say(person, `Seen by ${name}`);
  await untilWall(person, { visits: "1", friends: [name.toLowerCase()], status: `Seen by ${name}`, posts: [`${name} greets Ada.`] });
  await untilMarks(person, "here", 4);
}

test("what two devices did to one person without a network is merged, and both show the same", () =>
  onStage("wall", async ({ person }) => {
    const [ben, cleo] = await Promise.all([person("Ben"), person("Cleo", NARROW)]);
    await enter(ben, "Ada");
    await leave(ben);
    await enter(ben, "Ben");
    await enter(cleo, "Cleo");
    for (const one of [ben, cleo]) {
      await one.page.getByRole("complementary", { name: "People" }).getByRole("link").nth(2).waitFor();
      await cutOff(one);
    }
    await changeAda(ben);
    await changeAda(cleo);
    await savePicture(ben, "wall-offline");
    await cleo.page.reload();
    await untilWall(cleo, { visits: "1", friends: ["cleo"], status: "Seen by Cleo", posts: ["Cleo greets Ada."] });
    // A device that has restarted knows that nothing was sent since it was cut off.
    await untilMarks(cleo, "here", 4);

    await cleo.mendLink();
    await cleo.untilPending(0);
    await ben.mendLink();
    for (const one of [ben, cleo]) {
      // Of the two statuses hers was written later, though his is sent later.
      await untilWall(one, { visits: "2", friends: ["ben", "cleo"], status: "Seen by Cleo", posts: ["Cleo greets Ada.", "Ben greets Ada."] });
      await one.untilPending(0);
      await untilMarks(one, "confirmed", 6);
      await savePicture(one, `wall-${one.name.toLowerCase()}`);
      assert.equal(await one.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    }
    await assertAccessible(ben.page, "a wall with friends and posts");

    // Both rows of a friendship change in one transaction.
    await visit(cleo, "Ben");
    await untilWall(cleo, { visits: "1", friends: ["ada"], status: "", posts: [] });
    await cleo.page.getByRole("button", { name: "Remove Ben from my friends" }).click();
    await untilWall(cleo, { visits: "1", friends: [], status: "", posts: [] });
    await ben.page.getByRole("button", { name: "Delete “Cleo greets Ada.”" }).click();
    await visit(cleo, "Ada");
    for (const one of [ben, cleo]) {
      await untilWall(one, { visits: "2", friends: ["cleo"], status: "Seen by Cleo", posts: ["Ben greets Ada."] });
    }
  }));

async function untilCentre(person: Visitor, centre: string): Promise<void> {
  await untilEqual(`the data centre of ${person.name}`, () => person.page.locator("[data-centre]").getAttribute("data-centre"), centre);
}

/** Notes in the page each moment at which it shows no post or no event. */
async function watchForLosses(person: Visitor): Promise<() => Promise<number>> {
  await person.page.evaluate(() => {
    const losses: string[] = [];
    Object.assign(window, { losses });
    const look = (): void => ["[data-post]", "[data-event]"].filter((what) => !document.querySelector(what)).forEach((what) => losses.push(what));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  return () => person.page.evaluate(() => (window as unknown as { losses: string[] }).losses.length);
}

test("two people on two data centres share a wall and an event, and both go on when one data centre is killed", () =>
  onStageOf({ start: () => startCentres("wall"), Person: Visitor }, async ({ server, person }) => {
    const [ada, ben] = await Promise.all([
      person("Ada", { direct: true, path: "/?centre=eu" }),
      person("Ben", { direct: true, path: "/?centre=us", ...NARROW }),
    ]);
    await enter(ada, "Ada");
    await enter(ben, "Ben");
    await untilCentre(ada, "eu");
    await untilCentre(ben, "us");
    await visit(ada, "Ben");
    await ada.page.getByRole("button", { name: "Ask Ben to be my friend" }).click();
    await write(ada, "Snow in the north.");
    await ben.page.getByRole("button", { name: "Accept Ada" }).click();
    await ben.page.getByRole("button", { name: "Plan an event" }).click();
    await ben.page.getByRole("textbox", { name: "Title" }).fill("Tea");
    await ben.page.getByLabel("Time").fill("2027-01-06T15:00");
    await ben.page.getByRole("button", { name: "Plan it" }).click();
    await ada.page.getByRole("button", { name: "I come to “Tea”" }).click();
    await ben.page.locator('[data-event="Tea"][data-guests="ada ben"]').waitFor();
    const wall = { visits: "1", friends: ["ada"], status: "" };
    for (const one of [ada, ben]) {
      await untilWall(one, { ...wall, posts: ["Snow in the north."] });
    }

    const losses = await watchForLosses(ada);
    ada.expectNetworkErrors();
    await server.kill("eu");
    await write(ada, "Our data centre is gone.");
    await untilWall(ben, { ...wall, posts: ["Our data centre is gone.", "Snow in the north."] });
    await untilCentre(ada, "us");
    await ada.untilOnline();
    await write(ben, "Here it is not.");
    for (const one of [ada, ben]) {
      await untilWall(one, { ...wall, posts: ["Here it is not.", "Our data centre is gone.", "Snow in the north."] });
      await one.untilPending(0);
      await savePicture(one, `wall-centres-${one.name.toLowerCase()}`);
    }
    assert.equal(await losses(), 0, "the page showed what it had while it moved");
    await assertAccessible(ada.page, "a wall of several data centres");
  }));
