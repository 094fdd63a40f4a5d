/** A tab that leads stands still. */

import { mock } from "node:test";

import { LeaderHost } from "../client/leaderHost.js";
import type { FakeDevice } from "./fakeDevice.js";

/** The tab hears nothing, and does not step down when it is robbed, until the function that comes back is called. */
export function sleepAsLeader(device: FakeDevice, tab: number): () => void {
  const hear = device.standStill(tab);
  let wake = (): void => undefined;
  const awake = new Promise<void>((resolve) => (wake = resolve));
  const { stepDown } = LeaderHost.prototype;
  const asleep = mock.method(LeaderHost.prototype, "stepDown", async function (this: LeaderHost) {
    asleep.mock.restore();
    await awake;
    await stepDown.call(this);
  });
  return () => {
    hear();
    wake();
  };
}
