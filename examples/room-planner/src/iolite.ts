/** Opens the client of this page, cut off if it was. */

import type { ClientOf } from "@iolite/client";
import { openClient as open } from "examples-page";

import { mutators } from "./mutators";
import { schema } from "./schema";
import { rememberCut, wasCut } from "./sync/cutNetwork";

export type PlannerClient = ClientOf<typeof mutators>;

declare module "@iolite/react" {
  interface Register {
    client: PlannerClient;
  }
}

export async function openClient(): Promise<PlannerClient> {
  const client = await open({ schema, mutators, name: "room-planner", paused: wasCut() });
  rememberCut(client);
  return client;
}
