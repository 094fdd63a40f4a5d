import { after, before } from "node:test";

import type { ClientOptions, Schema } from "../index.js";
import type { Client } from "../client/types.js";
import { type DevServer, startDevServer } from "./devServer.js";
import { FakeDevice } from "./fakeDevice.js";
import { until } from "./until.js";

type App<S extends Schema, M> = Pick<ClientOptions<S, M>, "name" | "schema" | "mutators">;

/** A real server for the tests of one `describe`. What this returns opens an app on it, online; all are closed after the tests. */
export function servedApps<S extends Schema, M>(app: App<S, M>): (device?: FakeDevice) => Promise<Client<S, M>> {
  let server: DevServer;
  const opened: Client<S, M>[] = [];
  before(async () => {
    server = await startDevServer();
  });
  after(async () => {
    await Promise.all(opened.map((client) => client.close()));
    await server.stop();
  });
  return async (device = new FakeDevice()) => {
    const { url, token } = server;
    const client = await device.openTab({ url, token, user: "ann", ...app });
    opened.push(client);
    await until("the connection", () => client.connection.status === "online");
    return client;
  };
}
