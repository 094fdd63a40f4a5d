/**
 * Somebody without Rust makes an app by the commands of the README, from an empty folder, and shares it with somebody else. Then the app is built: it opens
 * without a network, and nothing is lost.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { assertAccessible, COLOURS, tabStops, tabTo } from "../accessible.js";
import { freePort } from "../freePort.js";
import { packInto, type Place, serveWith, type, withoutRust } from "../npmApp.js";
import { repositoryPath } from "../repository.js";
import { onStageOf, RESULTS, type Server } from "../stage.js";
import { until, untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";

/** The page starts servers of its own, whatever the other tests run on. */
const skip = process.env["IOLITE_CLUSTER"] !== undefined;

class Friend extends Visitor {
  async untilSays(words: string): Promise<void> {
    await untilEqual(`what ${this.name}'s page says`, () => this.page.locator(".status").innerText(), words);
  }

  async suggest(text: string): Promise<void> {
    await this.page.getByPlaceholder("A picnic by the lake").fill(text);
    await this.page.keyboard.press("Enter");
  }

  async isCalled(name: string): Promise<void> {
    await this.page.getByRole("textbox", { name: "You are" }).fill(name);
  }

  async untilIdeas(...ideas: readonly string[]): Promise<void> {
    await untilEqual(`the ideas at ${this.name}`, async () => (await this.page.locator("li .text").allInnerTexts()).join(), ideas.join());
  }
}

test("the commands of the README make an app that two people share, that opens without a network, and that loses nothing", { skip }, async () => {
  const root = await mkdtemp(join(tmpdir(), "iolite-install-"));
  try {
    await packInto(join(root, "dist"));
    const env = withoutRust(root);
    await mkdir(RESULTS, { recursive: true });
    const [commands, last] = await commandsOfReadme();
    const folder = await type(commands, { folder: root, env });
    const place = { folder, env };
    await inDevelopment(place, last);
    await type("npm test\nnpm run build", place);
    await whenBuilt(place);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

/** The block that makes the app, and the line that starts it. */
async function commandsOfReadme(): Promise<readonly [commands: string, last: string]> {
  const readme = await readFile(repositoryPath("README.md"), "utf8");
  const [, block = ""] = /^```sh\n([^`]*create-iolite[^`]*)^```$/m.exec(readme) ?? [];
  const lines = block.trim().split("\n");
  assert.equal(lines.at(-1), "npm run dev");
  return [lines.slice(0, -1).join("\n"), "npm run dev"];
}

/** One command has started Vite and the server of the data. */
async function inDevelopment(place: Place, command: string): Promise<void> {
  const start = async (): Promise<Server> => {
    const port = await freePort();
    return serveWith(`${command} -- --host 127.0.0.1 --strictPort --port ${port}`, place, { port, path: "/iolite.json" });
  };
  await onStageOf({ start, Person: Friend }, async ({ person }) => {
    const ada = await person("Ada", { direct: true });
    await ada.untilSays("Online");
    await ada.suggest("A picnic");
    await ada.untilIdeas("A picnic");
    await ada.untilSays("Online");
    await whenRetyped(place, ada);
  });
}

/** A column gets another type, which the server cannot take: the page says so over what it shows, instead of an empty list. Afterwards all is as it was. */
async function whenRetyped({ folder }: Place, person: Friend): Promise<void> {
  const model = join(folder, "src/model.ts");
  const source = await readFile(model, "utf8");
  await person.page.close();
  await writeFile(model, source.replace("likes: s.counter()", "likes: s.register(s.int())"));
  // Not watched: its console has the error too.
  const page = await person.context.newPage();
  await page.goto(`${person.link.origin}/`);
  const overlay = page.getByRole("alert", { name: "Iolite, in development" });
  await overlay.waitFor();
  assert.match(await overlay.innerText(), /refuses this page[\s\S]*likes[\s\S]*remove its data directory[\s\S]*0 changes wait/);
  await assertAccessible(page, "the overlay");
  await page.screenshot({ path: `${RESULTS}/starter-overlay.png` });
  await overlay.getByRole("button", { name: "Hide" }).click();
  await overlay.waitFor({ state: "detached" });
  await page.close();
  await writeFile(model, source);
}

async function whenBuilt(place: Place): Promise<void> {
  const start = async (): Promise<Server> => {
    const port = await freePort();
    return serveWith(`npm start -- --port ${port}`, place, { port, path: "/readyz" });
  };
  await onStageOf({ start, Person: Friend }, async ({ person }) => {
    const [ada, ben] = [await person("Ada"), await person("Ben")];
    for (const one of [ada, ben]) {
      await one.untilSays("Online");
      await one.isCalled(one.name);
      await one.untilIdeas("A picnic");
      await one.untilServiceWorkerControls();
    }
    await assertAccessible(ada.page, "the starter");
    await withoutMouse(ada);
    await ben.page.getByRole("button", { name: "Like A picnic, liked 1 times" }).waitFor();

    await Promise.all([ada.cutLink(), ben.cutLink()]);
    await ben.page.reload();
    await ben.untilIdeas("A picnic");
    await ben.suggest("Sailing");
    for (const one of [ada, ben]) {
      await one.page.getByRole("button", { name: "Choose A picnic" }).click();
    }
    await until("both wait", async () => /, 2 waiting$/.test(await ben.page.locator(".status").innerText()) && /, 1 waiting$/.test(await ada.page.locator(".status").innerText()));
    await ada.link.mend();
    await ada.untilSays("Online");
    await ben.link.mend();
    await ben.untilSays("Online");
    await ben.page.getByRole("alert").getByText("Ada has chosen “A picnic” already.").waitFor();
    await ada.untilIdeas("A picnic", "Sailing");
    await picturesOf(ben);
  });
}

/** All is reached by Tab, in the order of the page, and the like of the first idea is given by Enter. */
async function withoutMouse(person: Friend): Promise<void> {
  // The focus begins anew.
  await person.page.reload();
  await person.untilSays("Online");
  await person.untilIdeas("A picnic");
  assert.deepEqual(await tabStops(person.page), ["You are", "Like A picnic, liked 0 times", "Choose A picnic", "Your idea", "Suggest"]);
  await tabTo(person.page, /^Like A picnic/);
  await person.page.keyboard.press("Enter");
}

/** For people to look at: both schemes, desktop and phone, with a refusal. */
async function picturesOf(person: Friend): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await person.page.emulateMedia({ colorScheme });
    await assertAccessible(person.page, `the starter, ${colorScheme}`, COLOURS);
    for (const [name, width] of [["desktop", 1280], ["phone", 390]] as const) {
      await person.page.setViewportSize({ width, height: 720 });
      await person.page.screenshot({ path: `${RESULTS}/starter-${name}-${colorScheme}.png` });
    }
  }
}
