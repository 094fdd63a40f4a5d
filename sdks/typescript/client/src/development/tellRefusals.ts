/**
 * Says that a connection is refused, once for each cause, where nothing else would: in the console of a page in development, and always in Node. A process of Node
 * stays alive while its client is refused. It would end with success otherwise, since nothing is open any more, and its mutations would be gone.
 */

import type { Client } from "../client/types.js";
import { adviceOf } from "./advice.js";
import { showOverlay } from "./overlay.js";

/** A timer that does nothing, so its length does not matter; this is about the longest one. */
const LONG_MS = 2 ** 31 - 1;

interface Told {
  readonly development: boolean;
  /** Whether there is a process that ends by itself. */
  readonly isNode?: boolean;
  readonly say?: (line: string) => void;
}

export function tellRefusals(client: Pick<Client, "connection" | "onConnectionChange" | "close">, { development, isNode = runsInNode(), say = console.error }: Told): void {
  if (!development && !isNode) {
    return;
  }
  let told: string | undefined;
  let held: ReturnType<typeof setInterval> | undefined;
  function look(): void {
    const advice = adviceOf(client.connection);
    if (advice !== undefined && advice !== told) {
      say(advice);
      told = advice;
    }
    if (isNode && advice !== undefined && !isTested()) {
      held ??= setInterval(() => undefined, LONG_MS);
    } else {
      clearInterval(held);
      held = undefined;
    }
  }
  const stop = client.onConnectionChange(look);
  look();
  const close = client.close.bind(client);
  client.close = async () => {
    stop();
    clearInterval(held);
    await close();
  };
}

/** Helps the developer of an app from the moment a client opens: words in the log, and in a page in development the overlay. */
export function assistDevelopment(client: Client, development: boolean): void {
  tellRefusals(client, { development });
  if (development && typeof document !== "undefined" && !runsInNode()) {
    showOverlay(client, document);
  }
}

/** In a test of Node's own runner. It says that a test waits in vain as soon as nothing keeps the process alive, which is better than a test that hangs. */
function isTested(): boolean {
  return runsInNode() && process.env["NODE_TEST_CONTEXT"] !== undefined;
}

function runsInNode(): boolean {
  return typeof process !== "undefined" && typeof process.versions?.node === "string";
}
