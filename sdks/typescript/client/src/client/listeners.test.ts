import assert from "node:assert/strict";
import { test } from "node:test";

import { Listeners } from "./listeners.js";

/** Waits for what `queueMicrotask` reports as uncaught. */
async function uncaught(run: () => void): Promise<unknown[]> {
  const errors: unknown[] = [];
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => errors.push(error));
  run();
  await new Promise((resolve) => setImmediate(resolve));
  process.removeAllListeners("uncaughtException");
  others.forEach((each) => process.on("uncaughtException", each));
  return errors;
}

test("a listener that listens anew inside of its own call is called once a delivery", () => {
  const listeners = new Listeners<number>();
  let calls = 0;
  let stop = listeners.add(changed);
  function changed(): void {
    calls += 1;
    stop();
    stop = calls < 1000 ? listeners.add(changed) : () => undefined;
  }
  listeners.deliver(() => 1);
  assert.equal(calls, 1);
  listeners.deliver(() => 2);
  assert.equal(calls, 2);
});

test("who is added during a delivery hears the next one, and who was removed hears nothing", () => {
  const listeners = new Listeners<number>();
  const heard: string[] = [];
  let added = false;
  listeners.add((value) => {
    heard.push(`first ${value}`);
    stop();
    if (!added) {
      added = true;
      listeners.add((next) => void heard.push(`added ${next}`));
    }
  });
  const stop = listeners.add((value) => void heard.push(`removed ${value}`));
  listeners.deliver(() => 1);
  listeners.deliver(() => 2);
  assert.deepEqual(heard, ["first 1", "first 2", "added 2"]);
});

test("a listener that throws keeps nobody from being called, and its error is reported", async () => {
  const listeners = new Listeners<number>();
  const heard: number[] = [];
  const mine = new Error("mine");
  listeners.add(() => {
    throw mine;
  });
  listeners.add((value) => void heard.push(value));
  assert.deepEqual(await uncaught(() => listeners.deliver(() => 1)), [mine]);
  assert.deepEqual(heard, [1]);
});

test("one function may listen twice, and nobody is called once all are removed", () => {
  const listeners = new Listeners<number>();
  let calls = 0;
  const count = (): void => void (calls += 1);
  const stop = listeners.add(count);
  listeners.add(count);
  listeners.deliver(() => 1);
  stop();
  stop();
  listeners.deliver(() => 1);
  listeners.add(() => listeners.clear());
  listeners.add(count);
  listeners.deliver(() => 1);
  assert.equal(calls, 4);
});
