/** Opens the client of a page: where the server is, and with which token. */

import { type Client, createClient, type ClientOptions, developmentServer, type Schema } from "@iolite/client";

import { centresOfServer } from "./centresOfServer";

type Options<S extends Schema, M> = Pick<ClientOptions<S, M>, "schema" | "mutators" | "name" | "paused" | "as">;

export async function openClient<S extends Schema, M>(options: Options<S, M>): Promise<Client<S, M>> {
  const { url, token } = await developmentServer();
  const centres = await centresOfServer();
  const server = centres === undefined ? { url } : { centres };
  const client = await createClient({ ...server, ...options, token, user: "developer" });
  renewToken(client, token);
  return client;
}

/** A development server on another data directory has another token. */
function renewToken(client: Pick<Client, "onConnectionChange" | "setToken">, first: string): void {
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
