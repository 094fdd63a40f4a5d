import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { assertAccessible } from "../accessible.js";
import { freePort } from "../freePort.js";
import { packInto, type Place, serveWith, type, withoutRust } from "../npmApp.js";
import { repositoryPath } from "../repository.js";
import { onStageOf, type Server } from "../stage.js";
import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { type Step, stepsOf } from "./steps.js";

class Shopper extends Visitor {
  async untilState(words: string): Promise<void> {
    await untilEqual(`what ${this.name}'s page says`, () => this.page.getByRole("status").innerText(), words);
  }

  async add(what: string): Promise<void> {
    await this.page.getByPlaceholder("What do we need?").fill(what);
    await this.page.getByRole("button", { name: "Add" }).click();
  }

  items(): Promise<string[]> {
    return this.page.getByRole("textbox", { name: "What", exact: true }).evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
  }

  async untilItems(...items: readonly string[]): Promise<void> {
    await untilEqual(`the items at ${this.name}`, async () => (await this.items()).join(), items.join());
  }
}

/** The page starts a server of its own, whatever the other tests run on. */
const skip = process.env["IOLITE_CLUSTER"] !== undefined;

test("whoever follows the tutorial has a list that two people share, and that keeps its rule when both are offline", { skip }, () =>
  onStageOf({ start: follow, Person: Shopper }, async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    for (const one of [ada, ben]) {
      await one.untilState("online, 0 waiting");
      await one.page.getByRole("textbox", { name: "You" }).fill(one.name);
    }
    await ada.add("Milk");
    await ben.untilItems("Milk");
    await ben.page.getByRole("textbox", { name: "What", exact: true }).fill("Oat milk");
    await ada.untilItems("Oat milk");
    await ada.page.getByRole("checkbox", { name: "Bought" }).check();
    await until("it is ticked at Ben", () => ben.page.getByRole("checkbox", { name: "Bought", checked: true }).count());
    await Promise.all([ada.untilState("online, 0 waiting"), ben.untilState("online, 0 waiting")]);

    await Promise.all([ada.cutLink(), ben.cutLink()]);
    for (const one of [ada, ben]) {
      await one.page.getByRole("button", { name: "I get it" }).click();
      await one.add(`Something for ${one.name}`);
      await until("both wait", async () => (await one.page.getByRole("status").innerText()).endsWith(", 2 waiting"));
      await one.untilItems(`Something for ${one.name}`, "Oat milk");
    }
    await ada.link.mend();
    await ada.untilState("online, 0 waiting");
    await ben.link.mend();
    await ben.untilState("online, 0 waiting");
    await ben.page.getByRole("alert").getByText("Ada gets Oat milk already.").waitFor();
    assert.equal(await ada.page.getByRole("alert").count(), 0);
    for (const one of [ada, ben]) {
      await one.untilItems("Something for Ada", "Something for Ben", "Oat milk");
      await assertAccessible(one.page, `the shopping list of ${one.name}`);
    }
  }));

test("the example that the tutorial quotes is on its page as a whole", async () => {
  const steps = stepsOf(await readFile(repositoryPath("docs/tutorial.md"), "utf8"));
  const folder = repositoryPath("examples/shopping-list");
  const there = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const wanted = await Promise.all(
    there.map(async ({ parentPath, name }) => [join(parentPath, name).slice(folder.length + 1), await readFile(join(parentPath, name), "utf8")]),
  );
  const told = steps.flatMap((step) => (step.kind === "file" ? [[step.path, step.content]] : []));
  assert.deepEqual(Object.fromEntries(told), Object.fromEntries(wanted));
});

/** Packs what `make dist` does, and does all that the page says, in a folder of its own; what it starts at its end is the server. */
async function follow(): Promise<Server> {
  const steps = stepsOf(await readFile(repositoryPath("docs/tutorial.md"), "utf8"));
  const place = await mkdtemp(join(tmpdir(), "iolite-tutorial-"));
  const remove = (): Promise<void> => rm(place, { recursive: true, force: true });
  try {
    await packInto(join(place, "dist"));
    const env = withoutRust(place);
    let folder = place;
    for (const step of steps.slice(0, -1)) {
      folder = await take(step, folder, env);
    }
    const server = await serve(steps.at(-1), { folder, env });
    return { ...server, stop: () => server.stop().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Returns the folder in which one is afterwards. */
async function take(step: Step, folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  if (step.kind === "file") {
    const path = join(folder, step.path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, step.content);
    return folder;
  }
  return type(step.script, { folder, env });
}

/** The last command, on a port that is free. */
async function serve(step: Step | undefined, place: Place): Promise<Server> {
  assert.ok(step?.kind === "commands" && step.script.includes("iolite dev"), "the page ends by starting the server");
  const port = await freePort();
  return serveWith(`${step.script.trim()} --port ${port}`, place, { port, path: "/readyz" });
}
