import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import { nextFrame } from "./nextFrame.js";

/** A page whose frames, timers and visibility a test plays by hand. */
function page(t: TestContext, visibility: "visible" | "hidden") {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const document = Object.assign(new EventTarget(), { visibilityState: visibility });
  const frames = new Map<number, () => void>();
  const globals = {
    document,
    requestAnimationFrame: (callback: () => void) => (frames.set(frames.size + 1, callback), frames.size),
    cancelAnimationFrame: (frame: number) => void frames.delete(frame),
  };
  const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  Object.entries(globals).forEach(([name, value]) => Object.defineProperty(globalThis, name, { value, configurable: true }));
  t.after(() =>
    before.forEach(([name, own]) => (own === undefined ? Reflect.deleteProperty(globalThis, name) : Object.defineProperty(globalThis, name, own))),
  );
  const tasks: (() => void)[] = [];
  let calls = 0;
  nextFrame(
    () => (calls += 1),
    (callback) => void tasks.push(callback),
  );
  return {
    calls: () => calls,
    draw: () => [...frames.values()].forEach((callback) => callback()),
    task: () => tasks.splice(0).forEach((callback) => callback()),
    hide: () => {
      document.visibilityState = "hidden";
      document.dispatchEvent(new Event("visibilitychange"));
    },
    wait: (ms: number) => t.mock.timers.tick(ms),
  };
}

test("a page that is seen is called back with its next frame, and once", (t) => {
  const { calls, draw, hide, wait } = page(t, "visible");
  wait(50);
  assert.equal(calls(), 0);
  draw();
  assert.equal(calls(), 1);
  draw();
  hide();
  wait(1000);
  assert.equal(calls(), 1);
});

test("a hidden page, which has no frames, is called back in a task", (t) => {
  const { calls, task } = page(t, "hidden");
  assert.equal(calls(), 0);
  task();
  assert.equal(calls(), 1);
});

test("a page that is hidden before its frame comes is called back then", (t) => {
  const { calls, hide, draw } = page(t, "visible");
  hide();
  assert.equal(calls(), 1);
  draw();
  assert.equal(calls(), 1);
});

test("a page whose frames do not come is called back a little later", (t) => {
  const { calls, wait, draw } = page(t, "visible");
  wait(100);
  assert.equal(calls(), 1);
  draw();
  assert.equal(calls(), 1);
});
