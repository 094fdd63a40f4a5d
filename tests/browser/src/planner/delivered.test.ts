import assert from "node:assert/strict";
import { test } from "node:test";

import { untilEqual } from "../until.js";
import type { Person } from "./person.js";
import { onStage, type Stage } from "./stage.js";

/** Ada and Ben in one room, both connected and with nothing to do. */
async function adaAndBen({ person }: Stage): Promise<[Person, Person]> {
  const ada = await person("Ada");
  const ben = await person("Ben");
  for (const one of [ada, ben]) {
    await one.untilReady();
    await one.untilOnline();
    await one.untilPending(0);
  }
  return [ada, ben];
}

test("a move that somebody's network holds up is marked, with where they still see the piece, until they are not waited for any more", () =>
  onStage(async (stage) => {
    const [ada, ben] = await adaAndBen(stage);
    const before = await ada.placeOf("sofa-4");
    ben.link.hold();
    await ada.press("sofa-4", "ArrowLeft", "ArrowLeft");
    const moved = await ada.placeOf("sofa-4");
    await ada.untilMark("sofa-4", "undelivered");
    assert.deepEqual(await ada.ghostOf("sofa-4"), before);
    assert.match(await ada.labelOf("sofa-4"), /confirmed, not with everybody yet/);
    assert.match(await ada.ghostLabelOf("sofa-4"), /^Others may still see Sofa here, /);

    await ada.untilNoGhost("sofa-4");
    assert.notEqual(await ada.markOf("sofa-4"), "undelivered");
    assert.deepEqual(await ben.placeOf("sofa-4"), before, "Ben is not waited for");
    await ada.press("sofa-4", "ArrowUp");
    await ada.untilMark("sofa-4", "confirmed");
    assert.deepEqual(await ada.ghosts(), [], "and not for his sake any more");

    ben.link.letGo();
    await ben.untilPlace("sofa-4", await ada.placeOf("sofa-4"));
    assert.notDeepEqual(moved, before);
  }));

test("the mark of a move goes when the other one has it", () =>
  onStage(async (stage) => {
    const [ada, ben] = await adaAndBen(stage);
    ben.link.hold();
    await ada.press("table-5", "ArrowUp", "r");
    await ada.untilMark("table-5", "undelivered");
    ben.link.letGo();
    await ada.untilNoGhost("table-5");
    assert.deepEqual(await ben.placeOf("table-5"), await ada.placeOf("table-5"), "Ben shows it by then");
    await ada.untilMark("table-5", "confirmed");
  }));

test("what is done while cut off has its ghost, also after a reload, until it is sent", () =>
  onStage(async (stage) => {
    const [ada, ben] = await adaAndBen(stage);
    await ada.untilServiceWorkerControls();
    const before = await ada.placeOf("sofa-4");
    await ada.cutLink();
    await ada.press("sofa-4", "ArrowUp");
    await ada.untilMark("sofa-4", "durable");
    assert.deepEqual(await ada.ghostOf("sofa-4"), before);
    await ada.page.reload();
    await ada.untilReady();
    await untilEqual("the ghosts after the reload", async () => (await ada.ghosts()).join(), "sofa-4");
    assert.deepEqual(await ada.ghostOf("sofa-4"), before, "where the server has it");
    await ada.mendLink();
    await ada.untilPending(0);
    await ada.untilNoGhost("sofa-4");
    await ben.untilPlace("sofa-4", await ada.placeOf("sofa-4"));
  }));

test("a tab that follows another one shows what the server has not confirmed", () =>
  onStage(async (stage) => {
    const [ada] = await adaAndBen(stage);
    await ada.open();
    await ada.untilReady();
    await ada.untilOnline();
    const before = await ada.placeOf("sofa-4");
    await ada.cutLink();
    await ada.press("sofa-4", "ArrowUp");
    await untilEqual("the ghosts in the tab that follows", async () => (await ada.ghosts()).join(), "sofa-4");
    assert.deepEqual(await ada.ghostOf("sofa-4"), before);
    await ada.mendLink();
    await ada.untilPending(0);
    await ada.untilNoGhost("sofa-4");
  }));
