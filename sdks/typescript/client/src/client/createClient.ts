/** Opens a client. */

import type { Schema } from "../schema/schema.js";
import type { Client, ClientOptions } from "./types.js";

/** Opens the client of one user on this device. Resolves when what is stored on it is loaded, connected or not. */
export function createClient<S extends Schema, M>(_options: ClientOptions<S, M>): Promise<Client<S, M>> {
  return Promise.reject(new Error("the client is not connected to the core yet"));
}
