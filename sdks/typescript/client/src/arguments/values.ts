/**
 * Values of cells and keys on their way to the core, which looks at their types and names the column of one that does not fit.
 *
 * Invariant: what comes out is a primitive, bytes of this package's own, or an object without anything in it that stands for one of the app's.
 */

import { BlobForCore, BlobValue } from "../blob/value.js";
import { copied, refusal, type RefusalCode, shown, textArgument } from "./checks.js";

/** Stand for what no cell holds. The core says of them what they are. */
const SOME_OBJECT = Object.freeze({});
const SOME_FUNCTION = (() => () => undefined)();

/** More values than any key has. */
const KEY_VALUES_MAX = 1000;

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag)?.get;

/** Whether it really is one, in any realm. Asks no proxy, and no property of the value. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && tagOf?.call(value) === "Uint8Array";
}

/** A copy of bytes without calling anything of the app: its own copy of `length` or of the iterator is not asked. */
export function bytesOf(value: Uint8Array, code: RefusalCode, name: string): Uint8Array {
  return copied(code, name, () => new Uint8Array(value));
}

/** One value of a cell, or of a key. */
export function cellValue(value: unknown, code: RefusalCode = "transaction", name = "the value"): unknown {
  switch (typeof value) {
    case "string":
      return textArgument(value, code, name);
    case "object":
      return value === null ? null : isBytes(value) ? bytesOf(value, code, name) : blobForCore(value);
    case "function":
      return SOME_FUNCTION;
    case "undefined":
    case "boolean":
    case "number":
    case "bigint":
    case "symbol":
      return value;
  }
}

/** A blob as the module takes it, or what stands for any other object. A value may come here twice on its way to the module. */
function blobForCore(value: object): unknown {
  if (BlobForCore.is(value)) {
    return value;
  }
  const blob = BlobValue.contentOf(value);
  return blob === undefined ? SOME_OBJECT : new BlobForCore(blob);
}

/** The elements of an array. A hole would become undefined, or null, and is refused. */
export function elementsOf(array: readonly unknown[], code: RefusalCode, name: string): unknown[] {
  return copied(code, name, () => {
    const elements: unknown[] = [];
    for (let index = 0; index < array.length; index++) {
      if (!(index in array)) {
        throw refusal(code, `${name}[${index}] is a hole of a sparse array: say null, or leave it out`);
      }
      elements.push(array[index]);
    }
    return elements;
  });
}

/** The values of a key: an array of them, or the only one. */
export function keyValues(key: unknown, code: RefusalCode = "transaction", name = "the key"): unknown[] {
  return isArray(key) ? boundValues(key, code, name) : [cellValue(key, code, name)];
}

/** The first values of a key, in an array. */
export function boundValues(bound: unknown, code: RefusalCode = "transaction", name = "the bound"): unknown[] {
  if (!isArray(bound)) {
    throw refusal(code, `${name} is an array with the first values of a key, not ${shown(bound)}`);
  }
  const length = copied(code, name, () => bound.length);
  if (length > KEY_VALUES_MAX) {
    throw refusal(code, `${name} has ${length} values, more than any key`);
  }
  return elementsOf(bound, code, name).map((value) => cellValue(value, code, name));
}

/** The values of anything that can be iterated, but of a string. */
export function iteratedValues(given: unknown, code: RefusalCode, name: string): unknown[] {
  return copied(code, name, () => {
    const iterable = given as Iterable<unknown> | null | undefined;
    // The characters of a string are never meant.
    if (typeof given === "string" || typeof iterable?.[Symbol.iterator] !== "function") {
      throw refusal(code, `${name}: ${shown(given)} is no array, set or other iterable of values`);
    }
    return Array.from(iterable);
  });
}

/** The first content of a cell: a value, an array of them, or an array of pairs. */
export function cellContent(content: unknown, code: RefusalCode = "transaction", name = "the value"): unknown {
  const part = (value: unknown): unknown => cellValue(value, code, name);
  const parts = (value: unknown): unknown => (isArray(value) ? elementsOf(value, code, name).map(part) : part(value));
  return isArray(content) ? elementsOf(content, code, name).map(parts) : part(content);
}

/** As `Array.isArray`, which a revoked proxy can make throw. */
export function isArray(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
