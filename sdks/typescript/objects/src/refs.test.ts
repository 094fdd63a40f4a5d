import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";

import { makeRef, type RefTarget } from "./refs.js";
import { type Instance, type Run, runOfCall, VariableScope } from "./runs.js";

const caller = {
  call: (_target: RefTarget, method: string, args: readonly unknown[]) => Promise.resolve([method, ...args]),
  manage: () => Promise.resolve(),
};

test("a reference has the methods that are asked for, is no promise, and cannot be changed", async () => {
  const ref = makeRef({ className: "TodoList", id: "home", caller, place: undefined }) as Record<string, never> & { add(text: string): Promise<unknown> };
  assert.deepEqual(await ref.add("milk"), ["add", "milk"]);
  assert.equal(ref.add, ref.add);
  assert.equal(await (ref as unknown), ref);
  assert.equal(JSON.stringify(ref), '{"className":"TodoList","id":"home"}');
  assert.equal(String(ref), "[object Object]");
  assert.match(inspect(ref), /TodoList.*home/);
  assert.throws(() => Object.assign(ref, { id: "other" }), TypeError);
});

const host = caller as unknown as Run["context"]["host"];
const run = (instance: Instance, number: number): Run => {
  const run = { number, instance, context: { host, className: "A", id: "a", caller: "" }, ended: false };
  instance.runs.add(run);
  return run;
};

test("in a page, a call after an await belongs to the run that saw the reference, or to the only run of the object that keeps it", () => {
  const scope = new VariableScope();
  const instance: Instance = { object: {}, runs: new Set() };
  const [first, second] = [run(instance, 1), run(instance, 2)];
  const target = (place: RefTarget["place"], by: object = caller): RefTarget => ({ className: "B", id: "b", caller: by as typeof caller, place });
  const kept = target({ instance, run: undefined });
  const argument = target({ instance, run: second });
  const of = (given: RefTarget): number | undefined => runOfCall(given, scope)?.number;
  assert.deepEqual([of(kept), of(argument), of(target(undefined))], [undefined, 2, undefined], "two reads run, so what the object keeps is nobody's");
  assert.deepEqual(scope.within(first, () => [of(kept), of(argument), of(target(undefined))]), [1, 1, 1], "until the first await");
  assert.equal(scope.within(first, () => of(target(undefined, {}))), undefined, "a host's runs mean nothing to another one");
  second.ended = true;
  instance.runs.delete(second);
  assert.deepEqual([of(kept), of(argument)], [1, 1], "what a run has left in the object is kept by it");
  assert.equal(runOfCall(kept, { ...scope, followsAwaits: true, current: () => undefined, within: (_run, act) => act() }), undefined, "Node knows");
});
