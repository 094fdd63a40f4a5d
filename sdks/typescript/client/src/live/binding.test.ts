import assert from "node:assert/strict";
import { test } from "node:test";

import type { Observation } from "../client/types.js";
import { LiveReading, type LiveHost } from "./binding.js";

/** A host that counts what was begun and what has ended. */
class CountingHost implements LiveHost {
  begun = 0;
  ended = 0;

  observe(): Observation<unknown> {
    this.begun += 1;
    return { state: { status: "loading" }, onChange: () => () => undefined, stop: () => void (this.ended += 1) } as unknown as Observation<unknown>;
  }

  write(): never {
    throw new Error("nothing is written");
  }

  edit(): never {
    throw new Error("nothing is written");
  }

  written(): undefined {
    return undefined;
  }
}

test("a binding with a listener that asks for nothing else goes on, and ends a little after the listener", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const host = new CountingHost();
  const reading = new LiveReading(host, () => undefined, {});
  const stop = reading.onChange(() => undefined);
  t.mock.timers.tick(60_000);
  assert.deepEqual([host.begun, host.ended], [1, 0]);
  stop();
  t.mock.timers.tick(60_000);
  assert.deepEqual([host.begun, host.ended], [1, 1]);
});

test("a binding that was only asked ends a little later, and begins anew when it is asked again", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const host = new CountingHost();
  const reading = new LiveReading(host, () => undefined, {});
  assert.equal(reading.value, undefined);
  t.mock.timers.tick(60_000);
  assert.deepEqual([host.begun, host.ended], [1, 1]);
  assert.equal(reading.value, undefined);
  assert.deepEqual([host.begun, host.ended], [2, 1]);
});
