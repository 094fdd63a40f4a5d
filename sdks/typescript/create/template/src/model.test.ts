/** Two people and a real server, in Node: `npm test`. */

import { type RunningServer, startServer } from "@iolite/cli";
import { createClient, type Id, MutationError } from "@iolite/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type App, mutators, schema } from "./model";

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(async () => server.stop());

async function person(user: string): Promise<App> {
  return createClient({ url: server.url, token: server.token, name: "test", user, schema, mutators });
}

test("of two people who choose without a network, the second one is told who was faster", async () => {
  const [ada, ben] = [await person("ada"), await person("ben")];
  await ada.mutate.suggest({ text: " A picnic " }).until("confirmed");
  const here = (await ben.read((tx) => tx.ideas.orderBy("at").limit(1).all())).map(({ id }) => id);
  const id = here[0] as Id;
  for (const one of [ada, ben]) {
    // What is pinned is on the device, also without a network.
    await new Promise<void>((resolve) => {
      one.pin((tx) => [tx.ideas.get(id), tx.choices.get("saturday")], ({ status }) => status === "ready" && resolve());
    });
    one.goOffline();
  }
  const first = ada.mutate.choose({ id, who: "Ada" });
  const second = ben.mutate.choose({ id, who: "Ben" });
  ada.goOnline();
  await first.until("confirmed");
  ben.goOnline();
  const error = await second.until("confirmed").catch((error: unknown) => error);
  expect(error).toBeInstanceOf(MutationError);
  expect((error as MutationError).reason).toBe("Ada has chosen “A picnic” already.");
  await Promise.all([ada.close(), ben.close()]);
});
