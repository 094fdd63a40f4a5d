/**
 * The stage of the tests of a page: a real server, a real browser, and people, each with a browser context and a link of their own.
 * Ends with the assertion that nothing went wrong in any page.
 */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";

import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { type CuttableLink, directTo, linkTo } from "./cuttableLink.js";
import { repositoryPath } from "./repository.js";
import type { Visitor } from "./visitor.js";

export interface Server {
  readonly port: number;
  printed(): string;
  stop(): Promise<void>;
}

export interface StageOf<S extends Server, P extends Visitor> {
  readonly server: S;
  /** Opens the page as somebody else: another context, behind a link that can be cut. */
  person(name: string, options?: PersonOptions): Promise<P>;
}

export interface PersonOptions extends BrowserContextOptions {
  /** Connects to the server itself: the link cannot be cut then, but the server can be killed. */
  readonly direct?: boolean;
  /** What is sent takes so long in each direction. */
  readonly delayMs?: number;
  /** The path at which they come to the page. */
  readonly path?: string;
}

export interface Staging<S extends Server, P extends Visitor> {
  readonly start: () => Promise<S>;
  readonly Person: new (name: string, context: BrowserContext, link: CuttableLink) => P;
}

export async function onStageOf<S extends Server, P extends Visitor>(
  staging: Staging<S, P>,
  play: (stage: StageOf<S, P>) => Promise<void>,
): Promise<void> {
  const server = await staging.start();
  const people: P[] = [];
  try {
    const browser = await launchChromium();
    try {
      await play({ server, person: (name, options) => join(staging, browser, server, people, name, options) });
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
    console.error(`what the server printed:\n${server.printed()}`);
    throw error;
  } finally {
    await Promise.all(people.map((person) => person.link.close()));
    await server.stop();
  }
}

async function join<S extends Server, P extends Visitor>(
  { Person }: Staging<S, P>,
  browser: Browser,
  server: Server,
  people: P[],
  name: string,
  { direct = false, delayMs = 0, path = "/", ...options }: PersonOptions = {},
): Promise<P> {
  const link = direct ? directTo(server.port) : await linkTo(server.port, delayMs);
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, ...options });
  await context.addInitScript((name) => localStorage.setItem("examples.name", name), name);
  const person = new Person(name, context, link);
  people.push(person);
  await person.open(path);
  return person;
}

export const RESULTS = repositoryPath("test-results");

/** What people saw when a test failed. */
async function savePages(people: readonly Visitor[]): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  for (const person of people) {
    console.error(`problems of ${person.name}: ${person.problems().join("\n") || "none"}`);
    await person.page.screenshot({ path: `${RESULTS}/failed-${person.name}.png` }).catch(() => undefined);
  }
}
