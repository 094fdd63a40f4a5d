import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { makeRef, refTargetOf } from "../refs.js";
import { decodeArguments, decodeState, decodeValue, type RefMaker } from "./decode.js";
import { encodeArguments, encodeResult, encodeState, encodeThrown, encodeValue, ValueError } from "./encode.js";

const caller = { call: () => Promise.resolve(), manage: () => Promise.resolve() };
const ref: RefMaker = (className, id) => makeRef({ className, id, caller, place: undefined });
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
const round = (value: unknown): unknown => decodeValue(encodeValue(value, "value"), ref);

/** Each with its bytes: a change of them would part the languages. */
const VALUES: readonly [value: unknown, bytes: string][] = [
  [0, "00"],
  [23, "17"],
  [24, "1818"],
  [-1, "20"],
  [1000, "1903e8"],
  [2 ** 32, "1b0000000100000000"],
  [Number.MAX_SAFE_INTEGER, "1b001fffffffffffff"],
  [9007199254740993n, "1b0020000000000001"],
  [18446744073709551615n, "1bffffffffffffffff"],
  [-9223372036854775808n, "3b7fffffffffffffff"],
  [5n, "05"],
  [1.5, "f93e00"],
  [0.1, "fb3fb999999999999a"],
  [1e300, "fb7e37e43c8800759c"],
  [Infinity, "f97c00"],
  [NaN, "f97e00"],
  [true, "f5"],
  [null, "f6"],
  ["", "60"],
  ["ü", "62c3bc"],
  [Uint8Array.of(1, 2), "420102"],
  [[], "80"],
  [[1, ["a"]], "82018161 61".replace(" ", "")],
  [{}, "a0"],
  // By their bytes: the shorter one is no earlier than its length says, so "b" comes before "aa".
  [{ aa: 1, b: 2, a: 3 }, "a3616103616202626161 01".replace(" ", "")],
];

test("values have one form in CBOR: shortest integers and floats, and keys in the order of their bytes", () => {
  for (const [value, expected] of VALUES) {
    assert.equal(hex(encodeValue(value, "value")), expected, String(value));
    assert.deepEqual(round(value), typeof value === "bigint" && value === 5n ? 5 : value);
  }
});

test("a reference is a tag with its class and its id, and comes back as one", () => {
  const list = ref("TodoList", "home") as object;
  assert.equal(hex(encodeValue(list, "value")), "d81b836a696f6c6974652e52656668546f646f4c69737464686f6d65");
  const target = refTargetOf((round({ of: [list] }) as { of: object[] }).of[0] ?? {});
  assert.deepEqual([target?.className, target?.id], ["TodoList", "home"]);
  for (const wrong of ["d81b80", "d81b8361786161 6162".replace(" ", ""), "d81b846a696f6c6974652e52656661616162f6", "d81b01", "d90102f6"]) {
    assert.throws(() => decodeValue(bytes(wrong), ref), Error, wrong);
  }
});

test("what no object keeps is an error that names where it stands", () => {
  class Point {
    x = 1;
  }
  const self: { own?: unknown } = {};
  self.own = self;
  const wrong: readonly [value: unknown, message: RegExp][] = [
    [{ list: [1, { due: undefined }] }, /^state\.list\[1\]\.due is undefined/],
    [{ "a b": () => 1 }, /^state\["a b"\] is a function/],
    [{ at: Symbol("s") }, /^state\.at is a symbol/],
    [{ at: new Point() }, /^state\.at is a Point/],
    [{ at: new Date(0) }, /^state\.at is a Date: keep its time/],
    [{ at: new Map() }, /^state\.at is a Map: keep a plain object/],
    [{ at: new Uint16Array(1) }, /^state\.at is a Uint16Array: keep its bytes/],
    [{ at: 2n ** 64n }, /^state\.at is an integer of more than 64 bits/],
    [{ at: "\ud800" }, /^state\.at is a text with half a character/],
    [self, /^state\.own contains itself/],
    [JSON.parse(`${"[".repeat(97)}${"]".repeat(97)}`), /^state(\[0\]){96} is nested more than 96 deep/],
    [JSON.parse('{"__proto__":1}'), /^state\.__proto__ has a name/],
  ];
  for (const [value, message] of wrong) {
    assert.throws(() => encodeValue(value, "state"), (error) => error instanceof ValueError && message.test(error.message), String(message));
  }
  assert.deepEqual(round({ twice: [self.own === self, [1], [1]] }), { twice: [true, [1], [1]] });
  assert.ok(round(JSON.parse(`${"[".repeat(96)}${"]".repeat(96)}`)));
  const shared = { a: 1 };
  assert.deepEqual(round([shared, shared]), [shared, shared], "the same value twice is no cycle");
});

test("a state has the object's own properties, but for functions and fields that are not set, and comes back as a map only", () => {
  class List {
    items = ["milk"];
    due?: number;
    readonly helper = (): number => this.items.length;
  }
  assert.deepEqual(decodeState(encodeState(new List(), "List"), ref), { items: ["milk"] });
  assert.throws(() => encodeState(Object.assign(new List(), { items: [{ due: undefined }] }), "List"), /^ValueError: List\.items\[0\]\.due is undefined/);
  for (const wrong of ["80", "f6", "a1695f5f70726f746f5f5fa0"]) {
    assert.throws(() => decodeState(bytes(wrong), ref), TypeError, wrong);
  }
});

test("arguments that are undefined at the end are left out, and in the middle are an error", () => {
  assert.equal(hex(encodeArguments([undefined, undefined], "add")), "80");
  assert.equal(hex(encodeArguments([1, undefined], "add")), "8101");
  assert.throws(() => encodeArguments([undefined, 1], "add"), /^ValueError: the arguments of add\[0\] is undefined/);
  assert.deepEqual(decodeArguments(bytes("80"), ref), []);
  assert.throws(() => decodeArguments(bytes("a0"), ref), /no array/);
  assert.equal(decodeValue(encodeResult(undefined, "add"), ref), undefined);
  assert.throws(() => decodeArguments(bytes("81"), ref), /CBOR/);
});

test("what a method throws is a map: an error's name, message and own fields, as far as they can be sent", () => {
  const thrown = (value: unknown): unknown => decodeValue(encodeThrown(value), ref);
  const full = Object.assign(new RangeError("full"), { limit: 3, at: new Date(0) });
  assert.deepEqual(thrown(full), { name: "RangeError", message: "full", limit: 3 });
  assert.deepEqual(thrown({ code: 4 }), { code: 4 });
  assert.deepEqual(thrown("no"), { name: "Error", message: "no" });
  assert.deepEqual(thrown(undefined), { name: "Error", message: "undefined" });
});

/** Written by the SDK for Rust. Values that JSON does not have are an object with one member: a decimal text, hexadecimal digits, a class and an id. */
const GOLDEN = new URL("../../../../golden/objects-cbor.json", import.meta.url);

function golden(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(golden);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const { $int, $bytes, $ref, $float } = value as { $int?: string; $bytes?: string; $ref?: [string, string]; $float?: string };
  if ($ref !== undefined) {
    return ref(...$ref);
  }
  if ($float !== undefined) {
    return Number($float);
  }
  if ($int !== undefined) {
    return BigInt($int);
  }
  return $bytes === undefined ? Object.fromEntries(Object.entries(value).map(([key, own]) => [key, golden(own)])) : bytes($bytes);
}

test("the golden values of the SDK for Rust are written and read alike", { skip: !existsSync(GOLDEN) && "there are none yet" }, () => {
  const values = JSON.parse(readFileSync(GOLDEN, "utf8")) as { name: string; hex: string; value: unknown }[];
  assert.ok(values.length > 0);
  for (const { name, hex: expected, value } of values) {
    assert.equal(hex(encodeValue(golden(value), name)), expected, name);
    assert.equal(hex(encodeValue(decodeValue(bytes(expected), ref), name)), expected, name);
  }
});
