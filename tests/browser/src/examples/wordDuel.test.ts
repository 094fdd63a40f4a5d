/** A game of two players that is one object: in Node, or, with one other line in the file of its class, in the page of a player. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { assertAccessible } from "../accessible.js";
import { startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { onStageOf, type Server, type StageOf } from "../stage.js";
import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { appOf, startWithNode, withOtherLine } from "./objectApps.js";
import { PHONE, savePicture } from "./stage.js";

const { WORDS } = (await import(pathToFileURL(repositoryPath("examples/word-duel/words.js")).href)) as { WORDS: Set<string> };

const OWN_TURN = "It is your turn. The longer your word, the more points.";
const OTHERS_TURN = "It is the other player's turn.";

const ON_DEVICE = "No connection. This game is on your device, so it goes on.";

function untilState(person: Visitor, wanted: string): Promise<void> {
  return untilEqual(`the state at ${person.name}`, () => person.page.getByRole("status").innerText(), wanted);
}

/** The page says this beside the game: that the network is gone, or that a word does not count. */
function untilSays(person: Visitor, wanted: readonly string[]): Promise<void> {
  return untilEqual(`what the page of ${person.name} says`, async () => (await person.page.locator("main > p:not([role=status])").allInnerTexts()).join("\n"), wanted.join("\n"));
}

async function type(person: Visitor, word: string): Promise<void> {
  await person.page.getByRole("textbox", { name: "Your word" }).fill(word);
  await person.page.getByRole("button", { name: "Play" }).click();
}

/** Plays the longest word of the letters that are shown, which are all of one word. Returns it. */
async function play(person: Visitor): Promise<string> {
  await untilState(person, OWN_TURN);
  const shown = await person.page.getByRole("group", { name: "The letters" }).getByRole("button").allInnerTexts();
  const letters = sorted(shown.join("").toLowerCase());
  const word = [...WORDS].find((one) => sorted(one) === letters) ?? assert.fail(`there is no word of ${letters}`);
  await type(person, word);
  return word;
}

function sorted(word: string): string {
  return [...word].sort().join("");
}

async function pass(person: Visitor): Promise<void> {
  await untilState(person, OWN_TURN);
  await person.page.getByRole("button", { name: "Pass" }).click();
}

/** Waits until the last round is this one: what the player has played, and what the other one has. */
function untilRound(person: Visitor, round: number, words: readonly [string, string]): Promise<void> {
  const shown = (): Promise<string> =>
    person.page.locator("table").evaluate((table) => [table.querySelector("caption")?.textContent, ...[...table.querySelectorAll("tbody tr td:nth-child(2)")].map((cell) => cell.textContent)].join(" "));
  return untilEqual(`the last round at ${person.name}`, shown, `Round ${round} ${words.map((word) => word || "passed").join(" ")}`);
}

/** Two players of one game: Ada has begun it. */
async function join({ person }: StageOf<Server, Visitor>): Promise<readonly [Visitor, Visitor]> {
  const ada = await person("Ada");
  await untilState(ada, "Send the address of this page to somebody. They are the other player.");
  const ben = await person("Ben", { ...PHONE, path: new URL(ada.page.url()).hash.replace("#", "/#") });
  await untilState(ada, OWN_TURN);
  await untilState(ben, OTHERS_TURN);
  return [ada, ben];
}

test("two players play a game in Node, and one whose network was cut goes on in it", () =>
  onStageOf({ start: () => startWithNode(appOf("word-duel"), "Game"), Person: Visitor }, async (stage) => {
    const [ada, ben] = await join(stage);
    await type(ada, "zebra");
    await untilSays(ada, ["“zebra” is not of these letters"]);
    const first = await play(ada);
    await untilSays(ada, []);
    await untilState(ada, OTHERS_TURN);
    await ada.cutLink();
    await untilSays(ada, ["No connection. The game goes on when the network is back."]);
    await savePicture(ada, "word-duel-node-cut");
    await pass(ben);
    // Ben begins the next round too: his page says so of the old one until it has looked again.
    await untilRound(ben, 1, ["", first]);
    const second = await play(ben);
    await ada.link.mend();
    await untilSays(ada, []);
    await untilRound(ada, 1, [first, ""]);
    await pass(ada);
    for (const [one, words] of [[ada, ["", second]], [ben, [second, ""]]] as const) {
      await untilRound(one, 2, words);
      await savePicture(one, `word-duel-${one.name.toLowerCase()}`);
      await assertAccessible(one.page, `word-duel at ${one.name}`);
    }
  }));

/** Does what a browser does with the page of somebody who looks at something else. */
async function putAway({ page }: Visitor): Promise<void> {
  await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true, configurable: true }));
}

/** Cuts the network, and looks whether the page can still play. If it cannot, the network is mended again. */
async function goesOnAlone(person: Visitor): Promise<boolean> {
  await untilSays(person, []);
  await person.cutLink();
  const note = person.page.getByText(/No connection. ./);
  await note.waitFor();
  const isHere = (await note.innerText()) === ON_DEVICE;
  await (isHere ? undefined : person.link.mend());
  return isHere;
}

test("with one other line in the file of its class, the game lives in the page of its player, without a network too, and follows", async () => {
  const line = 'const deployment = { devices: "hold", managers: [iolite.keepOnDevice({ after: 12 })] };';
  const { app } = await withOtherLine("word-duel", "on-device", [/^const deployment/, line]);
  // No Node: the players' devices have the game.
  await onStageOf({ start: () => startIolite({ app }), Person: Visitor }, async (stage) => {
    const [ada, ben] = await join(stage);
    await ada.cutLink();
    await untilSays(ada, [ON_DEVICE]);
    const first = await play(ada);
    await untilState(ada, OTHERS_TURN);
    await untilSays(ben, ["The game cannot be reached at the moment."]);
    for (const one of [ada, ben]) {
      await savePicture(one, `word-duel-on-device-${one.name.toLowerCase()}-cut`);
    }
    await ada.link.mend();
    await untilSays(ada, []);
    // She has the game again, with her word: it was on her disk before the page said so.
    await ada.page.reload();
    await untilState(ada, OTHERS_TURN);
    await pass(ben);
    await untilRound(ben, 1, ["", first]);
    await putAway(ada);
    await until("the game has come to Ben's page, and goes on there without a network", () => goesOnAlone(ben));
    await play(ben);
    await ben.link.mend();
    await untilSays(ben, []);
  });
});
