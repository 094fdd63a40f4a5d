import assert from "node:assert/strict";
import { test } from "node:test";

import { untilEqual } from "../until.js";
import type { Visitor } from "../visitor.js";
import { onStage, PHONE, savePicture } from "./stage.js";

async function enter(...people: readonly Visitor[]): Promise<void> {
  for (const person of people) {
    await person.page.getByRole("textbox", { name: "Your name" }).fill(person.name);
    await person.page.getByRole("button", { name: "Enter" }).click();
  }
}

async function follow(person: Visitor, other: string): Promise<void> {
  await person.page.getByRole("button", { name: `Follow ${other}`, exact: true }).click();
  await person.page.getByRole("button", { name: `Unfollow ${other}` }).waitFor();
}

async function post(person: Visitor, text: string): Promise<void> {
  await person.page.getByRole("textbox", { name: "Post" }).fill(text);
  await person.page.getByRole("button", { name: "Post" }).click();
}

function shown(person: Visitor): Promise<string> {
  const posts = person.page.locator("[data-post]");
  return posts.evaluateAll((all) => all.map((one) => one.getAttribute("data-post")).join(" | "));
}

async function untilShown(person: Visitor, ...posts: readonly string[]): Promise<void> {
  await untilEqual(`the posts at ${person.name}`, () => shown(person), posts.join(" | "));
}

function heart(person: Visitor, text: string) {
  return person.page.locator(`[data-post="${text}"]`).getByRole("button", { name: "Like" });
}

async function untilLikes(person: Visitor, text: string, likes: number): Promise<void> {
  await untilEqual("the likes", async () => (await heart(person, text).innerText()).replace(/\D/g, ""), String(likes));
}

test("a post comes to those who follow its author, and to nobody else", () =>
  onStage("murmur", async ({ person }) => {
    const [ada, ben, eve] = [await person("ada"), await person("ben", PHONE), await person("eve")];
    await enter(ada, ben, eve);
    await follow(ben, "ada");
    await ben.untilPending(0);
    await post(ada, "A heron by the pond.");
    await untilShown(ben, "A heron by the pond.");
    await follow(eve, "ada");
    await eve.untilPending(0);
    await post(ada, "It has caught a fish.");
    await untilShown(ben, "It has caught a fish.", "A heron by the pond.");
    await untilShown(eve, "It has caught a fish.");
    await ben.page.getByRole("button", { name: "Unfollow ada" }).click();
    await ben.untilPending(0);
    await post(ada, "It is gone.");
    await untilShown(eve, "It is gone.", "It has caught a fish.");
    await untilShown(ben, "It has caught a fish.", "A heron by the pond.");

    await eve.page.getByRole("link", { name: "ada" }).first().click();
    await untilShown(eve, "It is gone.", "It has caught a fish.", "A heron by the pond.");
    assert.equal(await eve.page.locator(".owner small").innerText(), "Followers: 1, follows: 0");
    await savePicture(ada, "murmur");
    await savePicture(ben, "murmur-phone");
    await savePicture(eve, "murmur-wall");
  }));

test("likes count once for each user, also when two like at the same time without a network", () =>
  onStage("murmur", async ({ person }) => {
    const [ada, ben] = [await person("ada"), await person("ben")];
    await enter(ada, ben);
    await follow(ben, "ada");
    await ben.untilPending(0);
    await post(ada, "Snow!");
    await untilShown(ben, "Snow!");
    await Promise.all([ada.cutLink(), ben.cutLink()]);
    await Promise.all([heart(ada, "Snow!").click(), heart(ben, "Snow!").click()]);
    await Promise.all([untilLikes(ada, "Snow!", 1), untilLikes(ben, "Snow!", 1)]);
    await Promise.all([ada.mendLink(), ben.mendLink()]);
    await Promise.all([untilLikes(ada, "Snow!", 2), untilLikes(ben, "Snow!", 2)]);
    await heart(ben, "Snow!").click();
    await untilLikes(ada, "Snow!", 1);
    assert.equal(await heart(ben, "Snow!").getAttribute("aria-pressed"), "false");
  }));

test("a post that is written without a network waits over a reload, and comes to the followers of then", () =>
  onStage("murmur", async ({ person }) => {
    const [ada, ben] = [await person("ada"), await person("ben")];
    await enter(ada, ben);
    await ada.untilServiceWorkerControls();
    await ada.untilPending(0);
    await ada.cutLink();
    await post(ada, "No network here.");
    await untilEqual("its mark", () => ada.page.locator("[data-post]").getAttribute("data-mark"), "kept");
    await ada.untilPending(1);
    await savePicture(ada, "murmur-offline");
    // He follows only now, and what she wrote takes effect later.
    await follow(ben, "ada");
    await ben.untilPending(0);
    await ada.page.reload();
    await untilShown(ada, "No network here.");
    await ada.mendLink();
    await untilShown(ben, "No network here.");
    await untilEqual("its mark", () => ada.page.locator("[data-post]").getAttribute("data-mark"), "sent");
  }));

test("older posts come behind those that are shown, which stay meanwhile", () =>
  onStage("murmur", async ({ person }) => {
    const [ada, ben] = [await person("ada"), await person("ben")];
    await enter(ada, ben);
    const posts = Array.from({ length: 21 }, (_, number) => `Post ${number + 1}.`).reverse();
    for (const text of [...posts].reverse()) {
      await post(ada, text);
    }
    await ada.untilPending(0);
    await ben.page.getByRole("link", { name: "ada" }).first().click();
    await untilShown(ben, ...posts.slice(0, 20));
    const fewest = ben.page.evaluate(() => {
      const count = (): number => document.querySelectorAll("[data-post]").length;
      return new Promise<number>((resolve) => {
        let least = count();
        new MutationObserver(() => {
          least = Math.min(least, count());
          if (count() > 20) {
            resolve(least);
          }
        }).observe(document.body, { childList: true, subtree: true });
      });
    });
    const older = ben.page.getByRole("button", { name: "Older" });
    await older.click();
    assert.equal(await fewest, 20);
    await untilShown(ben, ...posts);
    await older.waitFor({ state: "detached" });
  }));
