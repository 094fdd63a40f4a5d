/** Passwords on two devices that write without a network: what only one changed is merged, and what both changed a person decides. In both ways to keep them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible } from "../accessible.js";
import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { onStage, savePicture } from "./stage.js";

type Changes = Readonly<Record<string, string>>;

/** Longer than what lies in a row: in one blob, these are pieces of their own. */
const LONG = "Ask at the desk. ".repeat(300);

async function fill(person: Visitor, changes: Changes): Promise<void> {
  const dialog = person.page.getByRole("dialog");
  for (const [label, value] of Object.entries(changes)) {
    await dialog.getByLabel(label, { exact: true }).fill(value);
  }
  await dialog.getByRole("button", { name: "Save" }).click();
}

async function add(person: Visitor, changes: Changes): Promise<void> {
  await person.page.getByRole("button", { name: "Add account" }).click();
  await fill(person, changes);
}

async function openAccount(person: Visitor, name: string): Promise<void> {
  await person.page.locator(`[data-account="${name}"] .open`).click();
}

async function change(person: Visitor, name: string, changes: Changes): Promise<void> {
  await openAccount(person, name);
  await fill(person, changes);
}

async function remove(person: Visitor, name: string): Promise<void> {
  await openAccount(person, name);
  await person.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
}

/** Each account's name and user, in the order in which they are shown. */
async function untilAccounts(person: Visitor, wanted: readonly string[]): Promise<void> {
  const names = person.page.locator("[data-account] .names");
  const shown = (): Promise<string> => names.evaluateAll((all) => all.map((one) => [...one.children].map((each) => each.textContent).join(" ")).join(", "));
  await untilEqual(`what ${person.name} sees`, shown, wanted.join(", "));
}

async function untilMarks(person: Visitor, mark: string, wanted: readonly string[]): Promise<void> {
  const marked = person.page.locator(`[data-mark="${mark}"]`);
  await untilEqual(`what is ${mark} at ${person.name}`, () => marked.evaluateAll((all) => all.map((one) => one.getAttribute("data-account")).join(", ")), wanted.join(", "));
}

async function untilConflicts(person: Visitor, wanted: readonly string[]): Promise<void> {
  const found = person.page.locator("[data-conflict]");
  const names = (): Promise<string> => found.evaluateAll((all) => all.map((one) => one.getAttribute("data-conflict")).sort().join(", "));
  await untilEqual(`the conflicts of ${person.name}`, names, [...wanted].sort().join(", "));
}

async function cutOff(people: readonly Visitor[]): Promise<void> {
  for (const person of people) {
    await person.untilServiceWorkerControls();
    await person.cutLink();
    await untilEqual(`${person.name}'s connection`, async () => (await person.connection()) === "online", false);
  }
}

/** The value that a side of the dialog shows of a field. */
function side(person: Visitor, name: "base" | "mine" | "theirs", field: string): Promise<string> {
  return person.page.getByRole("dialog").locator(`[data-field="${field}"] .${name} .value`).innerText();
}

/** Two is changed by both: its fields are chosen from both sides. */
async function decideTwo(ben: Visitor, picture: string, look: () => Promise<void>): Promise<void> {
  const dialog = ben.page.getByRole("dialog");
  await ben.page.getByRole("button", { name: "Compare Two" }).click();
  assert.deepEqual([await side(ben, "base", "user"), await side(ben, "mine", "user"), await side(ben, "theirs", "user")], ["empty", "ben-2", "ada-2"]);
  await dialog.getByLabel("Show the passwords").check();
  assert.deepEqual([await side(ben, "base", "password"), await side(ben, "theirs", "password")], ["old", "new"]);
  await dialog.getByRole("group", { name: "User" }).getByLabel(/Theirs/).check();
  await savePicture(ben, picture);
  await look();
  await dialog.getByRole("button", { name: "Keep what is chosen" }).click();
}

/** A deleted side is shown as deleted, and may be kept. */
async function decideDeleted(ben: Visitor, name: string, deleted: "mine" | "theirs", answer: string): Promise<void> {
  const dialog = ben.page.getByRole("dialog");
  await ben.page.getByRole("button", { name: `Compare ${name}` }).click();
  assert.equal(await dialog.locator(`[data-side=${deleted}]`).getAttribute("data-deleted"), "true");
  assert.equal(await side(ben, deleted, "user"), "deleted");
  assert.equal(await dialog.getByRole("button", { name: "Keep what is chosen" }).count(), 0);
  await dialog.getByRole("button", { name: answer, exact: true }).click();
}

async function changeAsAda(ada: Visitor): Promise<void> {
  await change(ada, "One", { User: "ada-1" });
  await change(ada, "Two", { User: "ada-2", Password: "new" });
  await remove(ada, "Four");
  await change(ada, "Five", { User: "ada-5" });
  await change(ada, "Six", { User: "both" });
}

async function changeAsBen(ben: Visitor): Promise<void> {
  await change(ben, "Two", { User: "ben-2", Notes: "at work" });
  await change(ben, "Three", { User: "ben-3" });
  await change(ben, "Four", { User: "ben-4" });
  await remove(ben, "Five");
  await change(ben, "Six", { User: "both" });
}

/** Both write without a network. One of them reloads the page before there is one again, and the other does not. */
async function changeOffline(ada: Visitor, ben: Visitor, reloading: Visitor): Promise<void> {
  await cutOff([ada, ben]);
  await Promise.all([changeAsAda(ada), changeAsBen(ben)]);
  await untilMarks(ada, "kept", ["Five", "One", "Six", "Two"]);
  await untilMarks(ben, "kept", ["Four", "Six", "Three", "Two"]);
  await reloading.page.reload();
  await untilAccounts(ada, ["Five ada-5", "One ada-1", "Six both", "Three ", "Two ada-2"]);
  await untilAccounts(ben, ["Four ben-4", "One ", "Six both", "Three ben-3", "Two ben-2"]);
  await untilMarks(ada, "kept", ["Five", "One", "Six", "Two"]);
  await untilMarks(ben, "kept", ["Four", "Six", "Three", "Two"]);
  await ada.mendLink();
  await ada.untilPending(0);
  await ben.mendLink();
}

/** An account that moves while somebody has its form open is asked about. One that is gone is said to be, and may be added again. */
async function changeWhatMoves(ada: Visitor, ben: Visitor): Promise<void> {
  await openAccount(ben, "Five");
  await change(ada, "Five", { User: "ada" });
  await untilAccounts(ben, ["Five ada", "One ada-1", "Six both", "Three ben-3", "Two ada-2"]);
  await fill(ben, { User: "ben" });
  await untilConflicts(ben, ["Five"]);
  await ben.page.getByRole("button", { name: "Compare Five" }).click();
  assert.deepEqual([await side(ben, "mine", "user"), await side(ben, "theirs", "user")], ["ben", "ada"]);
  await ben.page.getByRole("button", { name: "Keep mine" }).click();
  await untilAccounts(ada, ["Five ben", "One ada-1", "Six both", "Three ben-3", "Two ada-2"]);
  await openAccount(ben, "Three");
  await remove(ada, "Three");
  await ben.page.getByRole("alert").filter({ hasText: "deleted meanwhile" }).waitFor();
  await fill(ben, { User: "again" });
  await untilAccounts(ada, ["Five ben", "One ada-1", "Six both", "Three again", "Two ada-2"]);
}

async function play(way: "rows" | "vault", ada: Visitor, ben: Visitor): Promise<void> {
  await add(ada, { Name: "One", Notes: LONG });
  await add(ada, { Name: "Two", Password: "old" });
  for (const name of ["Three", "Four", "Five", "Six"]) {
    await add(ada, { Name: name });
  }
  await untilAccounts(ben, ["Five ", "Four ", "One ", "Six ", "Three ", "Two "]);
  await ada.untilPending(0);

  await changeOffline(ada, ben, way === "rows" ? ben : ada);
  await untilConflicts(ben, ["Five", "Four", "Two"]);
  if (way === "rows") {
    // Without a decision, what only one of them has changed is at both.
    await untilAccounts(ben, ["Four ben-4", "One ada-1", "Six both", "Three ben-3", "Two ben-2"]);
    await untilAccounts(ada, ["Five ada-5", "One ada-1", "Six both", "Three ben-3", "Two ada-2"]);
    await untilMarks(ben, "conflict", ["Four", "Two"]);
  }
  // Both ways show the same dialog.
  await decideTwo(ben, `passwords-${way}-conflict`, async () => (way === "rows" ? assertAccessible(ben.page, "the dialog of a conflict") : undefined));
  await decideDeleted(ben, "Four", "theirs", "Keep theirs: delete it");
  await decideDeleted(ben, "Five", "mine", "Keep theirs");
  for (const one of [ada, ben]) {
    await untilAccounts(one, ["Five ada-5", "One ada-1", "Six both", "Three ben-3", "Two ada-2"]);
    await untilConflicts(one, []);
    await one.untilPending(0);
  }
  await openAccount(ada, "Two");
  const form = ada.page.getByRole("dialog");
  assert.deepEqual([await form.getByLabel("Password", { exact: true }).inputValue(), await form.getByLabel("Notes").inputValue()], ["new", "at work"]);
  await form.getByRole("button", { name: "Cancel" }).click();
  await changeWhatMoves(ada, ben);
}

test("what two devices did offline is merged, and a person is asked only of what both have changed, in both ways to keep accounts", () =>
  onStage("passwords", async ({ person }) => {
    const [ada, ben] = await Promise.all([person("Ada"), person("Ben")]);
    await play("rows", ada, ben);
    for (const one of [ada, ben]) {
      await one.page.getByRole("link", { name: "All in one blob" }).click();
      await untilAccounts(one, []);
    }
    await play("vault", ada, ben);
  }));
