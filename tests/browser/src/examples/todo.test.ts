/** A to-do list that lives in Node, beside the server: `iolite dev --objects`. */

import { utimes } from "node:fs/promises";
import { test } from "node:test";

import { type IoliteServer, startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { onStageOf } from "../stage.js";
import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { PHONE, savePicture } from "./stage.js";

const OBJECTS = "examples/todo/objects.js";
const SERVES = "serves TodoList";

/** Resolves when Node has come to the server. */
async function start(): Promise<IoliteServer> {
  const server = await startIolite({ app: "examples/todo/dist", objects: OBJECTS });
  await until("Node serves lists", async () => server.printed().includes(SERVES)).catch(async (error: unknown) => {
    await server.stop();
    throw new Error(`no Node serves lists:\n${server.printed()}`, { cause: error });
  });
  return server;
}

async function add(person: Visitor, text: string): Promise<void> {
  await person.page.getByRole("textbox", { name: "What is to be done" }).fill(text);
  await person.page.getByRole("button", { name: "Add" }).click();
}

/** The list that a page shows, with a check mark before each item that is done. */
async function untilList(person: Visitor, wanted: readonly string[]): Promise<void> {
  const shown = (): Promise<string> =>
    person.page.locator("main").evaluate((main) => {
      const items = [...main.querySelectorAll("label")].map((item) => `${item.querySelector(":checked") === null ? "" : "✓ "}${item.innerText.trim()}`);
      return [...items, ...[...main.querySelectorAll("[role=alert]")].map((alert) => `alert: ${alert.textContent}`)].join("\n");
    });
  await untilEqual(`the list at ${person.name}`, shown, wanted.join("\n"));
}

test("two pages share a list that lives in Node, and a new one after Node was started again", () =>
  onStageOf({ start, Person: Visitor }, async ({ server, person }) => {
    const [ada, ben] = await Promise.all([person("Ada"), person("Ben", PHONE)]);
    await add(ada, "milk");
    await untilList(ben, ["milk"]);
    await ben.page.getByRole("checkbox", { name: "milk" }).click();
    await add(ben, "bread");
    for (const one of [ada, ben]) {
      await untilList(one, ["✓ milk", "bread"]);
      await savePicture(one, `todo-${one.name.toLowerCase()}`);
    }
    const now = new Date();
    await utimes(repositoryPath(OBJECTS), now, now);
    await until("Node serves lists again", async () => server.printed().split(SERVES).length === 3);
    await Promise.all([ada, ben].map(({ page }) => page.reload()));
    await add(ada, "bread");
    for (const one of [ada, ben]) {
      await untilList(one, ["bread"]);
    }
  }));
