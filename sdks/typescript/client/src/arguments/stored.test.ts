import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeArguments, encodeArguments } from "./stored.js";

test("arguments come back as they were given", () => {
  const args = {
    text: "ü\n",
    number: -0.5,
    big: -(1n << 70n),
    bytes: Uint8Array.of(0, 255, 7),
    list: [null, true, { deep: 1n }],
    $bigint: "mine",
    $$: { $bytes: "too" },
  };
  assert.deepEqual(decodeArguments(encodeArguments(args)), args);
  assert.equal(decodeArguments(encodeArguments(undefined)), undefined);
  assert.equal(decodeArguments(encodeArguments(null)), null);
});

test("what cannot be stored is refused, and the message says where it is", () => {
  const refused: [unknown, RegExp][] = [
    [{ a: [NaN] }, /the arguments\.a\[0\]: NaN/],
    [new Date(), /plain objects/],
    [{ f: () => 1 }, /the arguments\.f: a function/],
    [new Map(), /plain objects/],
    [{ a: 1, left: undefined }, /the arguments\.left: undefined/],
    [{ list: [1, undefined] }, /the arguments\.list\[1\]: undefined/],
    [{ list: [1, , 3] }, /the arguments\.list\[1\] is a hole of a sparse array/],
    [{ get mine() { throw new Error("mine"); } }, /the arguments cannot be read: Error: mine/],
  ];
  for (const [args, message] of refused) {
    assert.throws(() => encodeArguments(args), { code: "call", message });
  }
});

test("arguments that hold themselves are refused", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  assert.throws(() => encodeArguments(circle), { code: "call", message: /hold themselves/ });
});
