/** `make demo-check`: the demo starts, its page says that it is ready, and nothing goes wrong in it. Exits 0 or 1. */

import type { Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { startIolite } from "./ioliteServer.js";
import { watch } from "./pageWatch.js";

const PAGE_READY_WITHIN_MS = 30_000;

async function check(): Promise<void> {
  const server = await startIolite({ app: "examples/room-planner/dist" });
  try {
    const browser = await launchChromium();
    try {
      await checkPage(await browser.newPage(), `${server.origin}/`);
    } finally {
      await browser.close();
    }
  } catch (error) {
    console.error(`what iolite printed:\n${server.printed()}`);
    throw error;
  } finally {
    await server.stop();
  }
}

async function checkPage(page: Page, address: string): Promise<void> {
  const watched = watch(page);
  const response = await page.goto(address);
  if (response === null || !response.ok()) {
    throw new Error(`${address} answered ${response?.status() ?? "nothing"}`);
  }
  try {
    await page.waitForSelector("body[data-ready]", { state: "attached", timeout: PAGE_READY_WITHIN_MS });
  } catch {
    const problems = watched.problems().join("\n") || "no error in the console";
    throw new Error(`the page never set data-ready on its body: ${problems}`);
  }
  if (watched.problems().length > 0) {
    throw new Error(`the page is ready, but not without errors:\n${watched.problems().join("\n")}`);
  }
}

check().then(
  () => console.log("demo-check: the page is ready"),
  (error: unknown) => {
    console.error(`demo-check: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  },
);
