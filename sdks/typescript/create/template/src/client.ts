/** The connection to the server, and the copy of its data on this device. */

import { createClient, developmentServer } from "@iolite/client";

import { type App, mutators, schema } from "./model";

declare module "@iolite/react" {
  interface Register {
    client: App;
  }
}

/** In development the server says its address and token by itself. Where your app is deployed, give both. */
export async function openClient(): Promise<App> {
  const server = await developmentServer();
  return createClient({ ...server, name: "APP_NAME", user: "me", schema, mutators });
}
