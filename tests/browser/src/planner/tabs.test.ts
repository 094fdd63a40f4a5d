import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";

import type { Person } from "./person.js";
import { onStage, RESULTS } from "./stage.js";

/** Opens a second tab beside the first, which leads. */
async function openBeside(person: Person): Promise<{ readonly leader: Person["page"]; readonly follower: Person["page"] }> {
  const leader = person.page;
  const follower = await person.open();
  await person.untilReady();
  await person.untilOnline();
  return { leader, follower };
}

async function savePicture(person: Person, name: string): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await person.page.screenshot({ path: `${RESULTS}/tabs-${name}.png` });
}

test("two tabs show each other's edits at once, with and without a connection, and each takes effect once", () =>
  onStage(async ({ server, person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    await ada.untilPending(0);
    const { leader, follower } = await openBeside(ada);
    assert.equal(await server.metric("iolite_sessions"), 1);

    const before = await ada.placeOf("lamp-10");
    await ada.press("lamp-10", "ArrowUp");
    await ada.like();
    const moved = await ada.placeOf("lamp-10");
    ada.page = leader;
    await ada.untilPlace("lamp-10", moved);
    await ada.untilLikes(1);
    await ada.say("Hello from the tab that leads");
    ada.page = follower;
    await ada.untilMessage("Hello from the tab that leads", "confirmed");

    await ada.cutLink();
    await ada.press("lamp-10", "ArrowUp", "ArrowUp");
    const offline = { x: moved.x, y: moved.y - 2 * (before.y - moved.y) };
    await ada.untilPlace("lamp-10", offline);
    await ada.untilMark("lamp-10", "durable");
    await savePicture(ada, "follower-offline");
    ada.page = leader;
    await ada.untilPlace("lamp-10", offline);
    await ada.like();
    await savePicture(ada, "leader-offline");
    ada.page = follower;
    await ada.untilLikes(2);
    await ada.mendLink();
    await ada.untilPending(0);
    await savePicture(ada, "follower-online");
    ada.page = leader;
    await ada.untilPending(0);

    const ben = await person("Ben");
    await ben.untilReady();
    await ben.untilPlace("lamp-10", offline);
    assert.equal(await ben.likes(), 2);
  }));

test("the leading tab is closed while offline, and the other one goes on and sends what both left", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    const { leader, follower } = await openBeside(ada);

    await ada.cutLink();
    ada.page = leader;
    await ada.like();
    await ada.press("lamp-10", "ArrowUp");
    await ada.untilMark("lamp-10", "durable");
    ada.page = follower;
    await ada.untilPending(2);
    await ada.like();
    await ada.untilPending(3);
    await ada.untilLikes(2);
    const moved = await ada.placeOf("lamp-10");
    const flickers = await watchLikes(ada.page);
    await leader.close();

    await ada.untilPlace("lamp-10", moved);
    await ada.like();
    await ada.untilPending(4);
    await ada.untilLikes(3);
    await savePicture(ada, "taken-over-offline");
    assert.equal(await ben.likes(), 0);

    await ada.mendLink();
    await ada.untilPending(0);
    await ben.untilPlace("lamp-10", moved);
    await ben.untilLikes(3);
    assert.deepEqual(await flickers(), ["2", "3"], "nothing goes away while the tab takes over");
    const fresh = await person("Eve");
    await fresh.untilReady();
    assert.equal(await fresh.likes(), 3);
  }));

test("the tab that follows is closed while offline, and the one that leads has what it left", () =>
  onStage(async ({ person }) => {
    const ada = await person("Ada");
    await ada.untilReady();
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    const { leader, follower } = await openBeside(ada);
    await ada.cutLink();
    await ada.like();
    await ada.press("lamp-10", "ArrowUp");
    // What is pending only may end with its tab.
    await ada.untilMark("lamp-10", "durable");
    await ada.untilPending(2);
    await follower.close();
    ada.page = leader;
    await ada.untilPending(2);
    await ada.untilLikes(1);
    await ada.mendLink();
    await ada.untilPending(0);
    const ben = await person("Ben");
    await ben.untilReady();
    assert.equal(await ben.likes(), 1);
  }));

/** Notes every count of likes that the page shows, each once in a row; the function that comes back gives them. */
async function watchLikes(page: Person["page"]): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const shown: string[] = [];
    const note = (): void => {
      const likes = document.querySelector("[data-likes]")?.getAttribute("data-likes") ?? "none";
      if (shown.at(-1) !== likes) {
        shown.push(likes);
      }
    };
    note();
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true });
    (window as { shownLikes?: string[] }).shownLikes = shown;
  });
  return () => page.evaluate(() => (window as { shownLikes?: string[] }).shownLikes ?? []);
}
