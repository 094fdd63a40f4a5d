/** Opens the client of the page, in development and where it is deployed. */

import { createClient, developmentServer } from "@iolite/client";

import { mutators, schema, type TasksClient } from "./model.js";

/** The addresses and the token that a deployed page gets, for example from its own server. */
export interface Deployed {
  readonly urls: readonly string[];
  readonly token: string;
}

export async function openClient(user: string, deployed?: Deployed): Promise<TasksClient> {
  const server = deployed === undefined ? await developmentServer() : { url: deployed.urls, token: deployed.token };
  return createClient({ ...server, name: "tasks", user, schema, mutators });
}

/** Says to the person what only they or the app can mend. */
export function onRefusal(client: TasksClient, tell: (words: string) => void): void {
  client.onConnectionChange(({ refusal, message }) => {
    if (refusal === "version") {
      tell("There is a newer version of this page: load it again.");
    } else if (refusal !== undefined) {
      tell(message ?? refusal);
    }
  });
}
