/** Opens the client of this page: where the server is, with which token, and whose data it is. */

import { createClient, type Client } from "@iolite/client";

import { mutators } from "./mutators";
import { schema } from "./schema";
import { rememberCut, wasCut } from "./sync/cutNetwork";

export type PlannerClient = Client<typeof schema, (typeof mutators)["byName"]>;

declare module "@iolite/react" {
  interface Register {
    client: PlannerClient;
  }
}

/** What `iolite dev` serves beside the page. The service worker keeps the last answer for when there is no server. */
interface ServerConfig {
  readonly token: string;
  /** Where sessions begin, from the page's own address. */
  readonly url: string;
}

const CONFIG = "/iolite.json";

export async function openClient(): Promise<PlannerClient> {
  const config = await readConfig();
  const url = new URL(config.url, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const client = await createClient({
    url: url.href,
    token: config.token,
    schema,
    mutators,
    name: "room-planner",
    user: "developer",
    paused: wasCut(),
  });
  rememberCut(client);
  renewToken(client, config.token);
  return client;
}

/** A development server on another data directory has another token. */
function renewToken(client: PlannerClient, first: string): void {
  let token = first;
  client.onConnectionChange(({ refusal }) => {
    if (refusal === "unauthorized") {
      readConfig().then(
        (config) => {
          if (config.token !== token) {
            token = config.token;
            client.setToken(token);
          }
        },
        () => undefined, // No server: the next connection asks again.
      );
    }
  });
}

async function readConfig(): Promise<ServerConfig> {
  const response = await fetch(CONFIG, { cache: "no-store" });
  if (!response.ok) {
    throw new Error(`${CONFIG} answered ${response.status}: is this page served by \`iolite dev --app\`?`);
  }
  return (await response.json()) as ServerConfig;
}
