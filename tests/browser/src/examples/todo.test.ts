/** A to-do list that lives in Node, beside the server. Pages have copies of it, and run its methods themselves as far as its manager lets them. */

import { utimes } from "node:fs/promises";
import { test } from "node:test";

import { assertAccessible } from "../accessible.js";
import { repositoryPath } from "../repository.js";
import { onStageOf } from "../stage.js";
import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { appOf, type ObjectApp, startWithNode, withOtherLine } from "./objectApps.js";
import { PHONE, savePicture } from "./stage.js";

async function add(person: Visitor, text: string): Promise<void> {
  await person.page.getByRole("textbox", { name: "What is to be done" }).fill(text);
  await person.page.getByRole("button", { name: "Add" }).click();
}

/** The list that a page shows, with a check mark before each item that is done, and what it says. */
async function untilList(person: Visitor, wanted: readonly string[]): Promise<void> {
  const shown = (): Promise<string> =>
    person.page.locator("main").evaluate((main) => {
      const items = [...main.querySelectorAll("label")].map((item) => `${item.querySelector(":checked") === null ? "" : "✓ "}${item.innerText.trim()}`);
      return [...items, ...[...main.querySelectorAll("[role=alert]")].map((alert) => `alert: ${alert.textContent}`)].join("\n");
    });
  await untilEqual(`the list at ${person.name}`, shown, wanted.join("\n"));
}

const CUT = "alert: No connection. This is the list as it was; you can change it when the network is back.";

/** Two pages change the list, one of them is cut off for a while, and both have all of it afterwards. */
async function shareAndCut([ada, ben]: readonly [Visitor, Visitor], variant: string): Promise<void> {
  await add(ada, "milk");
  await untilList(ben, ["milk"]);
  await ben.page.getByRole("checkbox", { name: "milk" }).click();
  await add(ben, "bread");
  for (const one of [ada, ben]) {
    await untilList(one, ["✓ milk", "bread"]);
    await savePicture(one, `todo-${variant}-${one.name.toLowerCase()}`);
  }
  await ada.cutLink();
  await untilList(ada, ["✓ milk", "bread", CUT]);
  await ada.page.getByRole("button", { name: "Add", disabled: true }).waitFor();
  await savePicture(ada, `todo-${variant}-cut`);
  await add(ben, "tea");
  await untilList(ben, ["✓ milk", "bread", "tea"]);
  await ada.link.mend();
  await untilList(ada, ["✓ milk", "bread", "tea"]);
  await add(ada, "jam");
  for (const one of [ada, ben]) {
    await untilList(one, ["✓ milk", "bread", "tea", "jam"]);
  }
}

function onStage(app: ObjectApp, variant: string, more: (people: readonly [Visitor, Visitor], printed: () => string) => Promise<void>): Promise<void> {
  return onStageOf({ start: () => startWithNode(app, "TodoList"), Person: Visitor }, async ({ server, person }) => {
    const people = await Promise.all([person("Ada"), person("Ben", PHONE)]);
    await shareAndCut(people, variant);
    await more(people, () => server.printed());
  });
}

test("two pages share a list by leases, also around a cut, and a new one after Node was started again", () =>
  onStage(appOf("todo"), "lease", async ([ada, ben], printed) => {
    await assertAccessible(ada.page, "todo");
    const now = new Date();
    await utimes(repositoryPath(appOf("todo").objects), now, now);
    await until("Node serves lists again", async () => printed().split("serves TodoList").length === 3);
    await Promise.all([ada, ben].map(({ page }) => page.reload()));
    await add(ada, "bread");
    for (const one of [ada, ben]) {
      await untilList(one, ["bread"]);
    }
  }));

test("with one other line in the file of its class, the list has consistent copies, and the app works as before", async () => {
  const app = await withOtherLine("todo", "consistent", [/leaseCaching/, "  iolite.consistentCaching({ leaseMs: 1000 }),"]);
  await onStage(app, "consistent", async () => undefined);
});
