/** A tab that leads goes. */

import { mock } from "node:test";

import { FollowerHost } from "../client/followerHost.js";
import { until } from "./until.js";

/** Closes the tab that leads, and resolves when the one that follows takes the lead: that one has no core until the storage can be read. */
export async function leave(leader: { close(): Promise<void> }): Promise<void> {
  const vacated = mock.method(FollowerHost.prototype, "settle");
  await leader.close();
  await until("that another one takes the lead", () => vacated.mock.callCount() > 0);
  vacated.mock.restore();
}
