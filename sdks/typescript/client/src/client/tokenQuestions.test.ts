import assert from "node:assert/strict";
import { test } from "node:test";

import { TokenQuestions } from "./tokenQuestions.js";

/** A function whose answers a test gives by hand, and what is told of them. */
function asked() {
  const open: { resolve(token: string): void; reject(error: unknown): void }[] = [];
  const told: string[] = [];
  const ask = () => new Promise<string>((resolve, reject) => open.push({ resolve, reject }));
  const questions = new TokenQuestions(ask, { token: (token) => told.push(token), failed: (message) => told.push(`failed: ${message}`) });
  return { questions, open, told };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a function is asked once at a time, and never while the core works", async () => {
  const { questions, open, told } = asked();
  questions.wanted();
  assert.equal(open.length, 0, "the core works while it says that it wants a token");
  questions.wanted();
  await settled();
  questions.wanted();
  await settled();
  assert.equal(open.length, 1);
  open[0]?.resolve("first");
  await settled();
  questions.wanted();
  await settled();
  open[1]?.resolve("second");
  await settled();
  assert.deepEqual(told, ["first", "second"]);
});

test("what is no token is a failure, with words for the person", async () => {
  const told: string[] = [];
  for (const answer of [() => Promise.reject(new Error("no network")), () => { throw "nobody is signed in"; }, () => "", () => undefined as never]) {
    const questions = new TokenQuestions(answer, { token: (token) => told.push(token), failed: (message) => told.push(message) });
    questions.wanted();
    await settled();
  }
  assert.deepEqual(told.slice(0, 2), ["no network", "nobody is signed in"]);
  assert.match(told[2] ?? "", /the function token gave an empty string/);
  assert.match(told[3] ?? "", /the function token gave undefined/);
});

test("an answer that comes after the app set a token is told only if another one is wanted by then", async () => {
  const { questions, open, told } = asked();
  questions.wanted();
  await settled();
  questions.set();
  open[0]?.resolve("late");
  await settled();
  assert.deepEqual(told, []);
  questions.wanted();
  await settled();
  questions.set();
  questions.wanted();
  await settled();
  assert.equal(open.length, 2);
  open[1]?.reject(new Error("gone"));
  await settled();
  assert.deepEqual(told, ["failed: gone"]);
});
