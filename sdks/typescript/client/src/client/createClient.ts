/** Opens a client. */

import { platform } from "#platform";

import { assistDevelopment } from "../development/tellRefusals.js";
import { copied, hasHalfCharacter, optionsOf, shown, textArgument } from "../arguments/checks.js";
import { IoliteError } from "../errors.js";
import { Mutators } from "../mutators.js";
import { Schema } from "../schema/schema.js";
import { gatewaysOf } from "./addresses.js";
import { openClient } from "./openClient.js";
import { tokenOf } from "./tokenOption.js";
import type { Client, ClientOptions } from "./types.js";

/**
 * Opens the client of one user on this device. Resolves when what is stored on it is loaded, connected or not; in a tab beside another
 * one of the same app and user, at once.
 *
 * Rejects with code `call` for options that do not fit, `storage` where what is stored cannot be read, and with the browser's own error where the core cannot be
 * loaded. A server that is not there, or that refuses, is none: `connection` says so.
 */
export async function createClient<S extends Schema, M>(options: ClientOptions<S, M>): Promise<Client<S, M>> {
  const given = copied("call", "the options of createClient", () => ({ ...options }));
  const gateways = gatewaysOf(given);
  checkOptions(given);
  const token = tokenOf(given);
  const development = given.development ?? isDevelopment();
  const client = await openClient({ ...given, token, gateways, development }, platform);
  assistDevelopment(client, development);
  return client as unknown as Client<S, M>;
}

/** No gateway tells of changes more seldom. */
const BATCH_MS_MAX = 10_000;

/** What the compiler says too, for those who have none. */
function checkOptions({ name, user, schema, mutators, storage, cacheBytes, batch, paused, development }: ClientOptions<Schema, unknown>): void {
  const texts = Object.entries({ name, user }).filter(([, value]) => typeof value !== "string");
  if (texts.length > 0) {
    throw new IoliteError("call", `createClient needs a string for ${texts.map(([option]) => option).join(", ")}`);
  }
  checkName("name", name);
  checkName("user", user);
  checkFlag("paused", paused);
  checkFlag("development", development);
  if (!(schema instanceof Schema)) {
    throw new IoliteError("call", "createClient needs the schema that defineSchema returned");
  }
  if (!(mutators instanceof Mutators)) {
    throw new IoliteError("call", "createClient needs the mutators that defineMutators returned");
  }
  if (mutators.schema.json !== schema.json) {
    throw new IoliteError("call", "the mutators are for another schema: pass the one that defineMutators got");
  }
  const { ms } = batch === undefined ? { ms: 0 } : (optionsOf(batch, ["ms"], "call", "batch") as { ms?: unknown });
  if (typeof ms !== "number" || !Number.isInteger(ms) || ms < 0 || ms > BATCH_MS_MAX) {
    throw new IoliteError("call", `changes are told every 0 to ${BATCH_MS_MAX} whole milliseconds, not every ${shown(ms)}: set batch.ms`);
  }
  if (storage !== undefined && storage !== "indexeddb" && storage !== "memory") {
    throw new IoliteError("call", `the storage is indexeddb or memory, not ${shown(storage)}`);
  }
  if (cacheBytes !== undefined && !(Number.isSafeInteger(cacheBytes) && cacheBytes > 0)) {
    throw new IoliteError("call", `cacheBytes is a number of bytes, not ${shown(cacheBytes)}`);
  }
}

/** The name of the app and the user's are parts of the name of a storage. An empty one would be the same for everybody who has none yet. */
function checkName(option: string, given: string): void {
  textArgument(given, "call", option);
  if (given === "") {
    throw new IoliteError("call", `createClient needs a string that is not empty for ${option}: everybody without one would share a storage`);
  }
  if (hasHalfCharacter(given)) {
    throw new IoliteError("call", `${option} has half of a character, a surrogate without the other one`);
  }
}

function checkFlag(option: string, given: unknown): void {
  if (given !== undefined && typeof given !== "boolean") {
    throw new IoliteError("call", `${option} is true or false, not ${shown(given)}`);
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
