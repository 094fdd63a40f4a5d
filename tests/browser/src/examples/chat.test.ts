import assert from "node:assert/strict";
import { test } from "node:test";

import { until, untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { lines, say, talkWithACut, untilLine, untilReached, watchReached } from "./chatters.js";
import { onStage, PHONE, savePicture } from "./stage.js";

async function untilHere(person: Visitor, words: string): Promise<void> {
  await untilEqual(`who is here at ${person.name}`, () => person.page.locator("[data-here]").innerText(), words);
}

async function openRoom(person: Visitor, name: string): Promise<void> {
  await person.page.getByRole("button", { name: "New room" }).click();
  await person.page.getByRole("textbox", { name: "Its name" }).fill(name);
  await person.page.keyboard.press("Enter");
  await untilEqual("the open room", () => person.page.getByRole("heading", { level: 1 }).innerText(), name);
}

test("two people talk, one goes on without a network, and both see every line once and in one order", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben", PHONE);
    await talkWithACut(ada, ben);
    await savePicture(ada, "chat");
    await savePicture(ben, "chat-phone");
    const said = await lines(ada);
    assert.deepEqual([...said].sort(), ["Are you still there?", "I am.", "Is anybody here?", "Now I am on the train."]);
    await untilEqual("Ben's lines", async () => JSON.stringify(await lines(ben)), JSON.stringify(said));
  }));

test("what was written without a network is there after a reload, and is sent once", () =>
  onStage("chat", async ({ server, person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await say(ada, "Before.");
    await untilLine(ben, "Before.", "sent");
    await ada.untilServiceWorkerControls();
    await ada.cutLink();
    await untilEqual("sessions", () => server.metric("iolite_sessions"), 1);
    await say(ada, "In a tunnel.");
    await untilLine(ada, "In a tunnel.", "kept");
    await savePicture(ada, "chat-offline");
    await ada.page.reload();
    await untilLine(ada, "Before.", "sent");
    await untilLine(ada, "In a tunnel.", "kept");
    await ada.mendLink();
    await untilLine(ben, "In a tunnel.", "sent");
    await untilEqual("Ada's lines", async () => (await lines(ada)).join(), "Before.,In a tunnel.");
    assert.equal((await lines(ben)).join(), "Before.,In a tunnel.");
  }));

test("an own line shows how far it has got: on the disk, with the server, with everybody in the room", () =>
  onStage("chat", async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben", PHONE)];
    await untilHere(ada, "Here: Ada (you), Ben");
    await say(ben, "Here I am.");
    await untilReached(ben, "Here I am.", "delivered");
    await ada.cutLink();
    await untilEqual("Ada's connection", async () => (await ada.connection()) === "online", false);
    const stepsOf = await watchReached(ada, "Who has the tickets?");
    await say(ada, "Who has the tickets?");
    await untilReached(ada, "Who has the tickets?", "durable");
    await savePicture(ada, "chat-durable");
    await ada.mendLink();
    await untilReached(ada, "Who has the tickets?", "delivered");
    const order = ["optimistic", "durable", "confirmed", "delivered"];
    const steps = await stepsOf();
    assert.deepEqual(steps, [...steps].sort((a, b) => order.indexOf(a) - order.indexOf(b)), "it never goes back");

    ben.link.hold();
    await say(ada, "Are you with us?");
    await untilReached(ada, "Are you with us?", "confirmed");
    await savePicture(ada, "chat-confirmed");
    assert.equal((await lines(ben)).includes("Are you with us?"), false);
    ben.link.letGo();
    await untilReached(ada, "Are you with us?", "delivered");
    await untilLine(ben, "Are you with us?", "sent");
    assert.equal(await ben.page.locator("[data-reached]").count(), 1, "only own lines tell it");
    await savePicture(ada, "chat-delivered");
    await savePicture(ben, "chat-delivered-phone");
  }));

test("rooms tell how much is unread in them, and who is here", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await untilHere(ada, "Here: Ada (you), Ben");
    await untilHere(ben, "Here: Ben (you), Ada");
    await openRoom(ada, "Day trips");
    await untilHere(ben, "Here: Ben (you)");
    await say(ada, "The lake?");
    await say(ada, "Or the hills?");
    const link = ben.page.locator("[data-room=day-trips]");
    await untilEqual("what Ben has not read", () => link.locator(".count").innerText(), "2");
    await savePicture(ben, "chat-unread");
    await link.click();
    await untilLine(ben, "Or the hills?", "sent");
    await until("nothing is unread", async () => (await link.locator(".count").count()) === 0);
  }));

test("who has left is gone from the room, and who lost the network is gone after a while", () =>
  onStage("chat", async ({ server, person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    await untilHere(ada, "Here: Ada (you), Ben");
    await ben.page.getByRole("textbox", { name: "Your name" }).fill("  Benedict ");
    await ben.page.getByRole("textbox", { name: "Message" }).focus();
    await untilHere(ada, "Here: Ada (you), Benedict");
    await openRoom(ben, "Elsewhere");
    await untilHere(ada, "Here: Ada (you)");
    await ben.page.locator("[data-room=lobby]").click();
    await untilHere(ada, "Here: Ada (you), Benedict");

    await ben.cutLink();
    await untilEqual("sessions", () => server.metric("iolite_sessions"), 1);
    const now = await ada.page.evaluate(() => Date.now());
    await ada.page.clock.setFixedTime(now + 26_000);
    await untilHere(ada, "Here: Ada (you)");
  }));

test("what is too long is neither taken by fields nor by the rules", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    await ada.untilOnline();
    const message = ada.page.getByRole("textbox", { name: "Message" });
    await message.pressSequentially("x");
    assert.equal(await message.getAttribute("maxlength"), "2000");
    assert.equal(await ada.page.getByRole("textbox", { name: "Your name" }).getAttribute("maxlength"), "24");
    // An address is typed by hand, too.
    await ada.page.goto(`${ada.link.origin}/#/${"r".repeat(60)}`);
    await untilEqual("the room", () => ada.page.getByRole("heading", { level: 1 }).innerText(), `R${"r".repeat(39)}`);
    // A field that lost its limit: the rule holds all the same.
    await message.evaluate((field) => field.removeAttribute("maxlength"));
    await say(ada, "y".repeat(2001));
    await ada.page.locator("[data-refused=say]").getByText("The message is too long: it may have 2000 characters.").waitFor();
    assert.deepEqual(await lines(ada), []);
  }));

test("a long log shows its end first, and the rest on request", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    for (let count = 1; count <= 70; count += 1) {
      await say(ada, `Line ${count}.`);
    }
    await ada.untilPending(0);
    const ben = await person("Ben");
    await untilLine(ben, "Line 70.", "sent");
    assert.equal((await lines(ben)).length, 50);
    await ben.page.getByRole("button", { name: "Earlier" }).click();
    await untilEqual("Ben's lines", async () => (await lines(ben)).length, 70);
  }));
