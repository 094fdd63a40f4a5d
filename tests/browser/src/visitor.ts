/** Somebody who uses a page in a browser of their own, behind a link that can be cut. What they do goes through the page, as with a real person. */

import type { BrowserContext, Page } from "playwright-core";

import type { CuttableLink } from "./cuttableLink.js";
import { watch, type PageWatch } from "./pageWatch.js";
import { until, untilEqual } from "./until.js";

export class Visitor {
  readonly #watches = new Map<Page, PageWatch>();
  /** The tab that they look at. */
  page!: Page;

  constructor(
    readonly name: string,
    readonly context: BrowserContext,
    readonly link: CuttableLink,
  ) {}

  /** Opens the page in a new tab and looks at it. */
  async open(path = "/"): Promise<Page> {
    const page = await this.context.newPage();
    this.#watches.set(page, watch(page));
    this.page = page;
    await page.goto(`${this.link.origin}${path}`);
    return page;
  }

  problems(): string[] {
    return [...this.#watches.values()].flatMap((watched) => [...watched.problems()]);
  }

  async cutLink(): Promise<void> {
    this.expectNetworkErrors();
    await this.link.cut();
  }

  /** Resolves when the page says that it is connected again. */
  async mendLink(): Promise<void> {
    await this.link.mend();
    await this.untilOnline();
  }

  expectNetworkErrors(): void {
    this.#watches.forEach((watched) => watched.expectNetworkErrors());
  }

  async untilReady(): Promise<void> {
    await this.page.waitForSelector("body[data-ready=true]", { state: "attached", timeout: 30_000 });
  }

  async untilOnline(): Promise<void> {
    await untilEqual(`${this.name}'s connection`, () => this.connection(), "online");
    this.#watches.forEach((watched) => watched.expectNoNetworkErrors());
  }

  /** The page, and all that it needs, is on this device. */
  async untilServiceWorkerControls(): Promise<void> {
    await until("the service worker controls the page", () =>
      this.page.evaluate(() => navigator.serviceWorker.controller !== null),
    );
  }

  connection(): Promise<string | null> {
    return this.page.locator("[data-connection]").getAttribute("data-connection");
  }

  async pending(): Promise<number> {
    return Number(await this.page.locator("[data-pending]").getAttribute("data-pending"));
  }

  async untilPending(count: number): Promise<void> {
    await untilEqual(`${this.name}'s pending changes`, () => this.pending(), count);
  }
}
