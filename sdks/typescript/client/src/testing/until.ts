/** Waits for something that comes by itself. */

import { setTimeout as sleep } from "node:timers/promises";

const WITHIN_MS = 10_000;

export async function until(what: string, isThere: () => boolean): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!isThere()) {
    if (Date.now() > deadline) {
      throw new Error(`this did not come within ${WITHIN_MS} ms: ${what}`);
    }
    await sleep(5);
  }
}
