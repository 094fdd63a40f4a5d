import assert from "node:assert/strict";
import { test } from "node:test";

import { until, untilEqual } from "../until.js";
import { lines, say, talkWithACut, untilLine } from "./chatters.js";
import { onStage, PHONE, savePicture } from "./stage.js";

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

test("rooms tell how much is unread in them, and who is here", () =>
  onStage("chat", async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await untilEqual("who is here", () => ada.page.locator("[data-here]").innerText(), "Here: Ada, Ben");
    await ada.page.getByRole("textbox", { name: "New room" }).fill("Day trips");
    await ada.page.keyboard.press("Enter");
    await untilEqual("the open room", () => ada.page.getByRole("heading").innerText(), "Day trips");
    await say(ada, "The lake?");
    await say(ada, "Or the hills?");
    const link = ben.page.locator("[data-room=day-trips]");
    await untilEqual("what Ben has not read", () => link.locator(".count").innerText(), "2");
    await savePicture(ben, "chat-unread");
    await link.click();
    await untilLine(ben, "Or the hills?", "sent");
    await until("nothing is unread", async () => (await link.locator(".count").count()) === 0);
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
