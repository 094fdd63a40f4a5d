/** Collects what goes wrong in a page, so that a test can say that nothing did. */

import type { Page } from "playwright-core";

export interface PageWatch {
  /** Uncaught exceptions and console errors so far, oldest first. */
  problems(): readonly string[];
}

export function watch(page: Page): PageWatch {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") {
      problems.push(`console: ${message.text()} (${message.location().url})`);
    }
  });
  return { problems: () => problems };
}
