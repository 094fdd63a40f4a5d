/** Opens the client of this page: where the server is, with which token, and whose data it is. */

import { createClient, developmentServer, type Client } from "@iolite/client";

import { mutators } from "./mutators";
import { schema } from "./schema";
import { rememberCut, wasCut } from "./sync/cutNetwork";

export type PlannerClient = Client<typeof schema, (typeof mutators)["byName"]>;

declare module "@iolite/react" {
  interface Register {
    client: PlannerClient;
  }
}

export async function openClient(): Promise<PlannerClient> {
  const server = await developmentServer();
  const client = await createClient({
    ...server,
    schema,
    mutators,
    name: "room-planner",
    user: "developer",
    paused: wasCut(),
  });
  rememberCut(client);
  renewToken(client, server.token);
  return client;
}

/** A development server on another data directory has another token. */
function renewToken(client: PlannerClient, first: string): void {
  let token = first;
  client.onConnectionChange(({ refusal }) => {
    if (refusal === "unauthorized") {
      developmentServer().then(
        (server) => {
          if (server.token !== token) {
            token = server.token;
            client.setToken(token);
          }
        },
        () => undefined, // No server: the next connection asks again.
      );
    }
  });
}
