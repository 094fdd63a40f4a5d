import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../until.js";
import type { Person } from "./person.js";
import { onStage } from "./stage.js";

const EACH = 20;

test("the server is killed under load and restarted: both pages go on, and nothing shown as confirmed is missing", () =>
  onStage(async ({ server, person }) => {
    const ada = await person("Ada", { direct: true });
    const ben = await person("Ben", { direct: true });
    await Promise.all([ada.untilReady(), ben.untilReady()]);
    await Promise.all([ada.untilOnline(), ben.untilOnline()]);
    await Promise.all([rememberConfirmed(ada), rememberConfirmed(ben)]);

    const talk = Promise.all([talkAndLike(ada), talkAndLike(ben)]);
    await until("some messages are confirmed", async () => (await confirmedBy(ada)).length >= EACH / 2);
    [ada, ben].forEach((one) => one.expectNetworkErrors());
    await server.kill();
    const acknowledged = new Set([...(await confirmedBy(ada)), ...(await confirmedBy(ben))]);
    await talk;
    await server.restart();

    for (const one of [ada, ben]) {
      await one.untilOnline();
      await one.untilPending(0);
      await one.untilLikes(2 * EACH);
      await until(`${one.name} has all messages`, async () => (await texts(one)).length === 2 * EACH);
    }
    const fresh = await person("Eve");
    await fresh.untilReady();
    await until("all messages are there", async () => (await texts(fresh)).length === 2 * EACH);
    const there = new Set(await texts(fresh));
    assert.equal(there.size, 2 * EACH, "each message once");
    assert.deepEqual([...acknowledged].filter((text) => !there.has(text)), []);
    assert.equal(await fresh.likes(), 2 * EACH);
    assert.ok(acknowledged.size > 0 && acknowledged.size < 2 * EACH, `killed in the middle: ${acknowledged.size}`);
  }));

async function talkAndLike(person: Person): Promise<void> {
  for (let count = 1; count <= EACH; count += 1) {
    await person.say(`${person.name} says ${String(count).padStart(2, "0")}.`);
    await person.like();
  }
}

/** Notes in the page every message that was ever shown as confirmed. */
async function rememberConfirmed(person: Person): Promise<void> {
  await person.page.evaluate(() => {
    const seen = new Set<string>();
    Object.assign(window, { seen });
    const look = (): void =>
      document.querySelectorAll("[data-message][data-mark=confirmed] p").forEach((text) => seen.add(text.textContent ?? ""));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
}

function confirmedBy(person: Person): Promise<string[]> {
  return person.page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);
}

function texts(person: Person): Promise<string[]> {
  return person.page.locator("[data-message] p").allTextContents();
}
