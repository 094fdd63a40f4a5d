/**
 * The stage of the room planner's tests: a real server, a real browser, and people, each with a browser context and a link of their own.
 * Ends with the assertion that nothing went wrong in any page.
 */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";

import type { Browser, BrowserContextOptions } from "playwright-core";

import { launchChromium } from "../chromium.js";
import { directTo, linkTo } from "../cuttableLink.js";
import { startIolite, type IoliteServer } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { Person } from "./person.js";

export interface Stage {
  readonly server: IoliteServer;
  /** Opens the planner as somebody else: another context, behind a link that can be cut. */
  person(name: string, options?: PersonOptions): Promise<Person>;
}

export interface PersonOptions extends BrowserContextOptions {
  /** Connects to the server itself: the link cannot be cut then, but the server can be killed. */
  readonly direct?: boolean;
}

export async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const server = await startIolite({ app: "examples/room-planner/dist" });
  const people: Person[] = [];
  try {
    const browser = await launchChromium();
    try {
      await play({ server, person: (name, options) => join(browser, server, people, name, options) });
      for (const person of people) {
        assert.deepEqual(person.problems(), [], `problems in the pages of ${person.name}`);
      }
    } catch (error) {
      await savePages(people);
      throw error;
    } finally {
      await browser.close();
    }
  } catch (error) {
    console.error(`what iolite printed:\n${server.printed()}`);
    throw error;
  } finally {
    await Promise.all(people.map((person) => person.link.close()));
    await server.stop();
  }
}

async function join(
  browser: Browser,
  server: IoliteServer,
  people: Person[],
  name: string,
  { direct = false, ...options }: PersonOptions = {},
): Promise<Person> {
  const link = direct ? directTo(server.port) : await linkTo(server.port);
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, ...options });
  await context.addInitScript((name) => localStorage.setItem("room-planner.name", name), name);
  const person = new Person(name, context, link);
  people.push(person);
  await person.open();
  return person;
}

export const RESULTS = repositoryPath("test-results");

/** What people saw when a test failed. */
async function savePages(people: readonly Person[]): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  for (const person of people) {
    console.error(`problems of ${person.name}: ${person.problems().join("\n") || "none"}`);
    await person.page.screenshot({ path: `${RESULTS}/failed-${person.name}.png` }).catch(() => undefined);
  }
}
