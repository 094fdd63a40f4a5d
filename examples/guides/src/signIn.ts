/** Opens the client of somebody who has signed in at the app's backend. */

import { createClient, developmentServer } from "@iolite/client";

import { mutators, schema, type TasksClient } from "./model.js";

/** Asks the backend, which knows by its cookie who that is. */
export async function freshToken(address: string | URL = "/token"): Promise<string> {
  const response = await fetch(address, { method: "POST", signal: AbortSignal.timeout(10_000) });
  if (response.status === 401) {
    throw new Error("Sign in again to save your changes.");
  }
  if (!response.ok) {
    throw new Error("The server cannot be asked who you are now.");
  }
  return response.text();
}

export function openAs(user: string, url: string, token: () => Promise<string> = freshToken): Promise<TasksClient> {
  return createClient({ url, token, name: "tasks", user, schema, mutators });
}

/** In development nobody has to sign in. */
export async function openInDevelopment(user: string): Promise<TasksClient> {
  return createClient({ ...(await developmentServer()), as: { sub: user, roles: ["teller"] }, name: "tasks", user, schema, mutators });
}
