/** Collects what goes wrong in a page, so that a test can say that nothing did. */

import type { Page } from "playwright-core";

export interface PageWatch {
  /** Uncaught exceptions and console errors so far, oldest first. */
  problems(): readonly string[];
  /** From now on the link is down: Chromium's own lines about that (`net::ERR_...`) are no problems. */
  expectNetworkErrors(): void;
  /** The link is up, and the page knows it: they are problems again. */
  expectNoNetworkErrors(): void;
}

export function watch(page: Page): PageWatch {
  const problems: string[] = [];
  let linkIsDown = false;
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    const isNetwork = message.text().includes("net::ERR_");
    if (message.type() === "error" && !(isNetwork && linkIsDown)) {
      problems.push(`console: ${message.text()} (${message.location().url})`);
    }
  });
  return {
    problems: () => problems,
    expectNetworkErrors: () => void (linkIsDown = true),
    expectNoNetworkErrors: () => void (linkIsDown = false),
  };
}
