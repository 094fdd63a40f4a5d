/** Opens a client. */

import { platform } from "#platform";

import { IoliteError } from "../errors.js";
import type { Schema } from "../schema/schema.js";
import { openClient } from "./openClient.js";
import type { Client, ClientOptions } from "./types.js";

/**
 * Opens the client of one user on this device. Resolves when what is stored on it is loaded, connected or not; in a tab beside another
 * one of the same app and user, at once.
 */
export async function createClient<S extends Schema, M>(options: ClientOptions<S, M>): Promise<Client<S, M>> {
  checkAddress(options.url);
  const development = options.development ?? isDevelopment();
  const client: unknown = await openClient({ ...options, development }, platform);
  return client as Client<S, M>;
}

function checkAddress(url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw new IoliteError("call", `the address of a server begins with ws:// or wss://, not ${JSON.stringify(url)}`);
  }
}

/** Bundlers put the answer in the place of `process.env.NODE_ENV`; without one there is no `process` in a page. */
function isDevelopment(): boolean {
  try {
    return process.env.NODE_ENV !== "production";
  } catch {
    return false;
  }
}
