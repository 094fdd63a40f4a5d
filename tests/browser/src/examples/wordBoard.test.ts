import assert from "node:assert/strict";
import { test } from "node:test";

import { until, untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { onStage, PHONE, savePicture, type Stage } from "./stage.js";

const CENTRE = 60;
const BELOW_CENTRE = CENTRE + 11;

async function twoAtTheTable({ person }: Stage): Promise<[Visitor, Visitor]> {
  const ada = await person("Ada");
  const ben = await person("Ben", PHONE);
  for (const one of [ada, ben]) {
    await one.page.getByRole("button", { name: "Take a seat" }).click();
    await untilEqual(`${one.name}'s tiles`, () => tiles(one), 7);
  }
  await untilEqual("the players", () => ada.page.locator("[data-player]").count(), 2);
  return [ada, ben];
}

function tiles(person: Visitor): Promise<number> {
  return person.page.locator("[data-tile]").count();
}

/** Lays the first tile of the rack; what it counts. */
async function lay(person: Visitor, at: number): Promise<number> {
  const tile = person.page.locator("[data-tile]").first();
  const value = Number(await tile.locator("sub").getAttribute("data-value"));
  await tile.click();
  await square(person, at).click();
  await untilEqual("the tile lies there", async () => (await letter(person, at)) !== "", true);
  return value;
}

function square(person: Visitor, at: number) {
  return person.page.locator(`[data-at="${at}"]`);
}

function letter(person: Visitor, at: number): Promise<string | null> {
  return square(person, at).getAttribute("data-letter");
}

async function finish(person: Visitor): Promise<void> {
  await person.page.getByRole("button", { name: "Finish word" }).click();
}

async function untilTurnOf(person: Visitor, name: string): Promise<void> {
  const current = person.page.locator("[data-player][aria-current=true]");
  await untilEqual(`the turn at ${person.name}`, () => current.getAttribute("data-player"), name);
}

async function untilScore(person: Visitor, name: string, score: number): Promise<void> {
  const player = person.page.locator(`[data-player=${name}]`);
  await untilEqual(`${name}'s score at ${person.name}`, () => player.getAttribute("data-score"), String(score));
}

test("a tile shows at the other player as soon as it is laid, and goes as soon as it is taken back", () =>
  onStage("word-board", async (stage) => {
    const [ada, ben] = await twoAtTheTable(stage);
    await lay(ada, CENTRE);
    const shown = await letter(ada, CENTRE);
    await untilEqual("the tile at Ben", () => letter(ben, CENTRE), shown);
    assert.equal(await square(ben, CENTRE).getAttribute("data-laid"), "true");
    await square(ada, CENTRE).click();
    await untilEqual("the tile at Ben", () => letter(ben, CENTRE), "");
    assert.equal(await tiles(ada), 7);
  }));

test("words are scored, and what breaks a rule is refused with the reason", () =>
  onStage("word-board", async (stage) => {
    const [ada, ben] = await twoAtTheTable(stage);
    const first = await lay(ada, CENTRE);
    const second = await lay(ada, CENTRE + 1);
    await finish(ada);
    await untilTurnOf(ben, "Ben");
    // The centre doubles a word.
    for (const one of [ada, ben]) {
      await untilScore(one, "Ada", 2 * (first + second));
    }
    await untilEqual("Ada's tiles", () => tiles(ada), 7);

    await lay(ben, 0);
    await finish(ben);
    await ben.page.locator("[data-refused=finish]").getByText("A word has two letters or more.").waitFor();
    await savePicture(ben, "word-board-refused");
    await ben.page.getByRole("button", { name: "Dismiss" }).click();
    await square(ben, 0).click();
    const third = await lay(ben, BELOW_CENTRE);
    await finish(ben);
    await untilTurnOf(ada, "Ada");
    await untilScore(ada, "Ben", first + third);
    await savePicture(ada, "word-board");
    await savePicture(ben, "word-board-phone");
  }));

test("tiles that lie wrongly are told why, and a move counts every word that it makes", () =>
  onStage("word-board", async (stage) => {
    const [ada, ben] = await twoAtTheTable(stage);
    const untilRefused = async (person: Visitor, reason: string): Promise<void> => {
      await finish(person);
      await person.page.locator("[data-refused=finish]").getByText(reason).waitFor();
      await person.page.getByRole("button", { name: "Dismiss" }).click();
    };
    await untilRefused(ada, "Lay a tile first.");
    await lay(ada, CENTRE - 2);
    await lay(ada, CENTRE - 1);
    await untilRefused(ada, "The first word goes through the centre.");
    await lay(ada, CENTRE + 1);
    await untilRefused(ada, "The tiles have to stand in one line, without a gap.");
    await lay(ada, CENTRE);
    await finish(ada);
    await untilTurnOf(ben, "Ben");
    const valueAt = async (at: number): Promise<number> => Number(await square(ben, at).locator("sub").getAttribute("data-value"));
    const word = await Promise.all([CENTRE - 2, CENTRE - 1, CENTRE, CENTRE + 1].map(valueAt));
    await untilScore(ben, "Ada", 2 * word.reduce((sum, value) => sum + value, 0));

    await lay(ben, 1);
    await lay(ben, 2);
    await untilRefused(ben, "The tiles have to touch some that lie there.");
    await square(ben, 1).click();
    await square(ben, 2).click();
    // Along the first word: a word of two, and two words of two across. One of these letters lies on "2L".
    const plain = await lay(ben, BELOW_CENTRE);
    const doubled = await lay(ben, BELOW_CENTRE + 1);
    await finish(ben);
    await untilTurnOf(ada, "Ada");
    const across = (word[2] ?? 0) + plain + (word[3] ?? 0) + 2 * doubled;
    await untilScore(ada, "Ben", plain + 2 * doubled + across);
  }));

test("who was skipped while offline is told so, and has all tiles again", () =>
  onStage("word-board", async (stage) => {
    const [ada, ben] = await twoAtTheTable(stage);
    await ada.untilPending(0);
    await ada.cutLink();
    await untilEqual("sessions", () => stage.server.metric("iolite_sessions"), 1);
    await lay(ada, CENTRE);
    await lay(ada, CENTRE + 1);
    await finish(ada);
    await ada.untilPending(3);
    await savePicture(ada, "word-board-offline");
    assert.equal(await letter(ben, CENTRE), "");
    await ben.page.getByRole("button", { name: "Skip Ada" }).click();
    await untilTurnOf(ben, "Ben");
    const laid = await lay(ben, CENTRE);
    assert.ok(laid > 0);
    await ben.untilPending(0);

    await ada.mendLink();
    await ada.untilPending(0);
    await until("it is told", async () => (await ada.page.locator("[data-refused]").getByText("It is Ben's turn.").count()) === 3);
    await savePicture(ada, "word-board-skipped");
    await untilEqual("Ada's tiles", () => tiles(ada), 7);
    await untilEqual("Ben's tile at Ada", () => letter(ada, CENTRE), await letter(ben, CENTRE));
    await untilEqual("Ada's other tile", () => letter(ada, CENTRE + 1), "");
  }));
