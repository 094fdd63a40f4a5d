/** Lets axe look at a page, and walks over it by keyboard. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import type { AxeResults, RunOptions } from "axe-core";
import type { Page } from "playwright-core";

import { repositoryPath } from "./repository.js";

declare global {
  var axe: { run(options: RunOptions): Promise<AxeResults> };
}

const require = createRequire(repositoryPath("tests/browser/package.json"));

/** The rules that another colour scheme of the same page may break. */
export const COLOURS: RunOptions = { runOnly: ["color-contrast", "link-in-text-block"] };

/** All rules of axe, those of good practice too, unless `options` say which: nothing may be found, at any grade. `where` is for the message. */
export async function assertAccessible(page: Page, where: string, options: RunOptions = {}): Promise<void> {
  const source = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  // What fades in has come to rest: colours are judged as they are then.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity)
        .map((animation) => animation.finished.catch(() => undefined)),
    ),
  );
  await page.evaluate(source);
  const { violations } = await page.evaluate((options) => axe.run(options), options);
  const found = violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id} (${help}): ${html}\n${failureSummary}`),
  );
  assert.deepEqual(found, [], `axe finds something in ${where}:\n${found.join("\n\n")}`);
}

/** A place at which the keyboard's focus stops. */
export interface TabStop {
  readonly name: string;
  readonly isMarked: boolean;
}

/** No page of the examples has more: past it the focus is taken to be caught. */
const STOPS = 60;

/** Walks with Tab from the page's beginning until the focus has left it. Each stop has a name, and shows that it has the focus. */
export async function tabStops(page: Page): Promise<readonly string[]> {
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  // Without a click on something else the walk begins where the focus was last.
  await page.evaluate(() => getSelection()?.collapse(document.body, 0));
  const stops: TabStop[] = [];
  for (;;) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(focused);
    if (stop === undefined) {
      break;
    }
    stops.push(stop);
    assert.ok(stops.length <= STOPS, `the focus is caught: ${stops.map(({ name }) => name).join(" | ")}`);
  }
  const dumb = stops.filter(({ name, isMarked }) => name === "" || !isMarked);
  assert.deepEqual(dumb, [], "every stop has a name, and shows the focus");
  return stops.map(({ name }) => name);
}

/** Runs in the page. */
function focused(): TabStop | undefined {
  const element = document.activeElement;
  if (element === null || element === document.body || element === document.documentElement) {
    return undefined;
  }
  const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? [...(element.labels ?? [])] : [];
  const told = element.getAttribute("aria-label") ?? (labels[0]?.innerText || element.textContent);
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  // A drawing has its outline in itself.
  const drawn = element.querySelector(".outline");
  const isMarked = drawn === null ? outlineStyle !== "none" && outlineWidth !== "0px" : getComputedStyle(drawn).strokeWidth === "3.5px";
  return { name: (told ?? "").replaceAll(/\s+/g, " ").trim(), isMarked };
}

/** Presses Tab until the focus is on what is called so. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let press = 0; press < STOPS; press += 1) {
    const at = await page.evaluate(focused);
    if (at !== undefined && (typeof name === "string" ? at.name === name : name.test(at.name))) {
      return;
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never leads to ${String(name)}`);
}
