import assert from "node:assert/strict";
import { test } from "node:test";

import { onStage } from "./stage.js";

test("the leading tab is closed while offline, and the other one sends what it left", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    const leader = ada.page;
    const other = await ada.open();

    await ada.cutLink();
    ada.page = leader;
    await ada.like();
    await ada.press("lamp-10", "ArrowUp");
    await ada.untilMark("lamp-10", "durable");
    const moved = await ada.placeOf("lamp-10");
    await leader.close();

    ada.page = other;
    await ada.untilReady();
    await ada.untilPlace("lamp-10", moved);
    await ada.untilPending(2);
    assert.equal(await ben.likes(), 0);

    await ada.mendLink();
    await ada.untilPending(0);
    await ben.untilPlace("lamp-10", moved);
    await ben.untilLikes(1);
    const fresh = await person("Eve");
    await fresh.untilReady();
    assert.equal(await fresh.likes(), 1);
  }));
