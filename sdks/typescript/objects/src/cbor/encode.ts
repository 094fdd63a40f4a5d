/**
 * Values to CBOR, in the canonical form of RFC 8949, 4.2.1: keys in the order of their bytes, the shortest integers and floats.
 *
 * Invariant: what is written can be read by every language. Anything else is an error that names where it stands.
 */

import { encode, rfc8949EncodeOptions, Tagged } from "cborg";

import { refTargetOf } from "../refs.js";

/** The tag of a reference, whose content is this name, a class and an id. */
export const REF_TAG = 27;
export const REF_NAME = "iolite.Ref";

/** CBOR has integers of 64 bits, and a sign. */
const SMALLEST_INTEGER = -(2n ** 64n);
const LARGEST_INTEGER = 2n ** 64n - 1n;

/** Arrays and objects inside of each other. The SDK for Rust reads no more. */
const DEEPEST = 96;

const EMPTY_ARRAY = Uint8Array.of(0x80);
const UNDEFINED = Uint8Array.of(0xf7);
const HALF_CHARACTER = /\p{Surrogate}/u;

/** A value that objects cannot keep or send. */
export class ValueError extends TypeError {
  override readonly name = "ValueError";
}

/** A problem of a value, and the way to it: the way is put together while the error passes. */
class Unfit extends Error {
  readonly way: (string | number)[] = [];
}

/** `name` begins the way to what is wrong, as in `TodoList.items[2]`. */
export function encodeValue(value: unknown, name: string): Uint8Array {
  return named(name, () => encode(prepared(value, new Set()), rfc8949EncodeOptions));
}

/** The arguments of a call. Those at the end that are `undefined` are left out, as a caller may leave them out. */
export function encodeArguments(given: readonly unknown[], method: string): Uint8Array {
  let count = given.length;
  while (count > 0 && given[count - 1] === undefined) {
    count -= 1;
  }
  return count === 0 ? EMPTY_ARRAY : encodeValue(given.slice(0, count), `the arguments of ${method}`);
}

/** A result. A method may return nothing: that is `undefined`, which stands nowhere else. */
export function encodeResult(result: unknown, method: string): Uint8Array {
  return result === undefined ? UNDEFINED : encodeValue(result, `the result of ${method}`);
}

/** The state of an object: its own enumerable properties, but for functions, and for optional fields that are not set. */
export function encodeState(object: object, name: string): Uint8Array {
  return named(name, () => {
    const isState = (property: string): boolean => !["function", "undefined"].includes(typeof (object as Record<string, unknown>)[property]);
    return encode(preparedMembers(object, Object.keys(object).filter(isState), new Set([object])), rfc8949EncodeOptions);
  });
}

/** An error that a method threw, always as a map: an `Error` as its name, its message and its own fields, as far as they can be sent. */
export function encodeThrown(thrown: unknown): Uint8Array {
  const fields: Record<string, unknown> = {};
  if (typeof thrown === "object" && thrown !== null) {
    for (const key of Object.keys(thrown)) {
      keepIfFit(fields, key, (thrown as Record<string, unknown>)[key]);
    }
  }
  if (thrown instanceof Error) {
    keepIfFit(fields, "name", String(thrown.name));
    keepIfFit(fields, "message", String(thrown.message));
  } else if (typeof thrown !== "object" || thrown === null) {
    Object.assign(fields, { name: "Error", message: String(thrown) });
  }
  return encodeValue(fields, "the error");
}

function keepIfFit(fields: Record<string, unknown>, key: string, value: unknown): void {
  try {
    encodeValue({ [key]: value }, "");
    fields[key] = value;
  } catch (error) {
    if (!(error instanceof ValueError)) {
      throw error;
    }
  }
}

function named(name: string, write: () => Uint8Array): Uint8Array {
  try {
    return write();
  } catch (error) {
    if (error instanceof Unfit) {
      throw new ValueError(`${name}${error.way.map(step).join("")} ${error.message}`);
    }
    throw error;
  }
}

function step(part: string | number): string {
  return typeof part === "number" ? `[${part}]` : /^[A-Za-z_$][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
}

/** A copy of a value in which references are tags. `around`: the objects and arrays that it stands in. */
function prepared(value: unknown, around: Set<object>): unknown {
  switch (typeof value) {
    case "string":
      return text(value);
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return integer(value);
    case "object":
      return value === null ? null : preparedObject(value, around);
    case "undefined":
      throw new Unfit("is undefined: leave the property out, or say null");
    case "function":
      throw new Unfit("is a function: objects keep and send values, so make it a method of the class");
    case "symbol":
      throw new Unfit("is a symbol: say a text");
  }
}

function text(value: string): string {
  if (HALF_CHARACTER.test(value)) {
    throw new Unfit("is a text with half a character: cut texts between characters");
  }
  return value;
}

function integer(value: bigint): bigint {
  if (value < SMALLEST_INTEGER || value > LARGEST_INTEGER) {
    throw new Unfit("is an integer of more than 64 bits: write it as a text or as bytes");
  }
  return value;
}

function preparedObject(value: object, around: Set<object>): unknown {
  const ref = refTargetOf(value);
  if (ref !== undefined) {
    return new Tagged(REF_TAG, [REF_NAME, ref.className, ref.id]);
  }
  if (value instanceof Uint8Array) {
    return value;
  }
  if (around.has(value)) {
    throw new Unfit("contains itself: keep the id of what it points to");
  }
  if (around.size === DEEPEST) {
    throw new Unfit(`is nested more than ${DEEPEST} deep: keep references, or a flat list`);
  }
  around.add(value);
  const copy = Array.isArray(value) ? preparedElements(value, around) : preparedMembers(plain(value), Object.keys(value), around);
  around.delete(value);
  return copy;
}

function preparedElements(array: readonly unknown[], around: Set<object>): unknown[] {
  const copy = new Array<unknown>(array.length);
  let index = 0;
  try {
    for (; index < array.length; index++) {
      copy[index] = prepared(array[index], around);
    }
  } catch (error) {
    throw passed(error, index);
  }
  return copy;
}

function preparedMembers(object: object, keys: readonly string[], around: Set<object>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  let current = "";
  try {
    for (const key of keys) {
      current = key;
      if (key === "__proto__") {
        throw new Unfit("has a name that JavaScript keeps for itself: take another one");
      }
      copy[text(key)] = prepared((object as Record<string, unknown>)[key], around);
    }
  } catch (error) {
    throw passed(error, current);
  }
  return copy;
}

function passed(error: unknown, part: string | number): unknown {
  if (error instanceof Unfit) {
    error.way.unshift(part);
  }
  return error;
}

/** An object that was written down as such, in any realm. Instances of classes would come back without their class. */
function plain(value: object): object {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || Object.getPrototypeOf(prototype) === null) {
    return value;
  }
  const name = (prototype.constructor as { name?: unknown } | undefined)?.name;
  throw new Unfit(`is ${typeof name === "string" && name !== "" ? `a ${name}` : "an instance of a class"}: ${advice(value)}`);
}

function advice(value: object): string {
  if (value instanceof Date) {
    return "keep its time as a number, or as a text";
  }
  if (value instanceof Map || value instanceof Set) {
    return "keep a plain object, or an array";
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return "keep its bytes as a Uint8Array";
  }
  return "keep plain objects, arrays and values, or a reference to an object";
}
