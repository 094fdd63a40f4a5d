import assert from "node:assert/strict";
import { test } from "node:test";

import { untilEqual } from "../until.js";
import { onStage, type Stage } from "./stage.js";

test("what is done while cut off survives a reload, and takes effect once when the link is back", () =>
  onStage(async ({ server, person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    await untilSessions(server, 2);

    await ada.cutLink();
    await untilSessions(server, 1);
    const before = await ben.placeOf("sofa-4");
    await ada.like();
    await ada.press("sofa-4", "ArrowLeft", "ArrowUp");
    await ada.say("I am on the train.");
    const moved = await ada.placeOf("sofa-4");
    await ada.untilMark("sofa-4", "durable");
    await ada.untilMessage("I am on the train.", "durable");
    assert.notDeepEqual(moved, before);

    // Nobody listens at the page's address: it can only come from the service worker.
    await assert.rejects(fetch(`${ada.link.origin}/`));
    const answer = await ada.page.reload();
    assert.equal(answer?.fromServiceWorker(), true);
    await ada.untilReady();
    await ada.untilPlace("sofa-4", moved);
    await ada.untilLikes(1);
    await ada.untilMessage("I am on the train.", "durable");
    assert.equal(await ada.pending(), 4);

    assert.deepEqual(await ben.placeOf("sofa-4"), before);
    assert.equal(await ben.likes(), 0);
    assert.equal(await ben.message("I am on the train.").count(), 0);
    assert.equal(await server.metric("iolite_sessions"), 1);

    await ada.mendLink();
    await ada.untilPending(0);
    await ben.untilPlace("sofa-4", moved);
    await ben.untilLikes(1);
    await ben.untilMessage("I am on the train.", "confirmed");

    const fresh = await person("Eve");
    await fresh.untilReady();
    await fresh.untilMessage("I am on the train.", "confirmed");
    assert.equal(await fresh.likes(), 1);
    assert.equal(await fresh.message("I am on the train.").count(), 1);
    assert.deepEqual(await fresh.placeOf("sofa-4"), moved);
  }));

test("a like whose acknowledgement is lost again and again counts once", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    await ada.untilPending(0);
    const rounds = 5;
    for (let round = 0; round < rounds; round += 1) {
      // The link goes down while the like is on its way, at whatever point it has got to.
      await Promise.all([ada.like(), ada.cutLink()]);
      await ada.untilLikes(round + 1);
      await ada.mendLink();
    }
    await ada.untilPending(0);
    const fresh = await person("Eve");
    await fresh.untilReady();
    assert.equal(await fresh.likes(), rounds);
  }));

test("the page's own switch cuts it off, also over a reload, and back", () =>
  onStage(async ({ server, person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await untilSessions(server, 2);
    const cut = ada.page.getByRole("switch", { name: "Cut my network" });
    await cut.click();
    await untilSessions(server, 1);
    await ada.like();
    // What is only in the page does not survive a reload.
    await ada.page.locator("small", { hasText: "saved on this device, not sent yet" }).waitFor();
    await ada.page.reload();
    await ada.untilReady();
    await ada.untilPending(1);
    assert.equal(await cut.getAttribute("aria-checked"), "true");
    assert.equal(await ben.likes(), 0);
    await cut.click();
    await ada.untilPending(0);
    await ben.untilLikes(1);
  }));

test("without a server at all the page opens, shows what it had, and takes changes", () =>
  onStage(async ({ server, person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    await ada.page.close();
    await server.kill();
    await ada.cutLink();
    await ada.open();
    ada.expectNetworkErrors();
    await ada.untilReady();
    await ada.press("plant-9", "ArrowUp");
    await ada.untilMark("plant-9", "durable");
    await server.restart();
    await ada.mendLink();
    await ada.untilMark("plant-9", "confirmed");
  }));

async function untilSessions(server: Stage["server"], count: number): Promise<void> {
  await untilEqual("the number of sessions at the server", () => server.metric("iolite_sessions"), count);
}
