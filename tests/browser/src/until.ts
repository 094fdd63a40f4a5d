/** Waits for conditions, never for time. */

import { setTimeout as sleep } from "node:timers/promises";

const WITHIN_MS = 30_000;
const ASK_EVERY_MS = 40;

/** Resolves once `condition` holds; an error of it counts as "not yet". Fails with `what` and the last answer. */
export async function until(what: string, condition: () => Promise<unknown>, withinMs = WITHIN_MS): Promise<void> {
  const deadline = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      last = await condition();
    } catch (error) {
      last = error;
    }
    if (last !== undefined && last !== null && last !== false && !(last instanceof Error)) {
      return;
    }
    if (Date.now() > deadline) {
      throw new Error(`waited ${withinMs} ms in vain until ${what} (last: ${String(last)})`);
    }
    await sleep(ASK_EVERY_MS);
  }
}

/** Resolves once `ask` gives `wanted`. */
export async function untilEqual<T>(what: string, ask: () => Promise<T>, wanted: T): Promise<void> {
  let last: T | undefined;
  const condition = async (): Promise<boolean> => (last = await ask()) === wanted;
  await until(`${what} is ${String(wanted)}`, condition).catch((error: unknown) => {
    throw new Error(`${what} is ${String(last)}, not ${String(wanted)}`, { cause: error });
  });
}
