import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeArguments, encodeArguments } from "./arguments.js";

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
  assert.deepEqual(decodeArguments(encodeArguments({ a: 1, left: undefined })), { a: 1 });
});

test("what cannot be stored is refused, and the message says where it is", () => {
  const refused: [unknown, RegExp][] = [
    [{ a: [NaN] }, /the arguments\.a\[0\]: NaN/],
    [new Date(), /plain objects/],
    [{ f: () => 1 }, /the arguments\.f: function/],
    [new Map(), /plain objects/],
  ];
  for (const [args, message] of refused) {
    assert.throws(() => encodeArguments(args), message);
  }
});

test("arguments that hold themselves are refused", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  assert.throws(() => encodeArguments(circle), { name: "TypeError", message: /hold themselves/ });
});
