/** Deep comparison of plain data: what closures return and what they ask for. */

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function areEqualArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => areEqual(value, b[index]));
}

function areEqualObjects(a: object, b: object): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return areEqualArrays(a, b);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return a.length === b.length && a.every((byte, index) => byte === b[index]);
  }
  if ((a instanceof Set && b instanceof Set) || (a instanceof Map && b instanceof Map)) {
    return areEqualArrays(Array.from(a), Array.from(b));
  }
  if (a instanceof Date && b instanceof Date) {
    return a.getTime() === b.getTime();
  }
  if (isPlain(a) && isPlain(b)) {
    const keys = Object.keys(a);
    return areEqualArrays(keys, Object.keys(b)) && keys.every((key) => areEqual(a[key], b[key]));
  }
  // Other classes and functions are made anew by every run, and say nothing about what they hold.
  return Object.getPrototypeOf(a) === Object.getPrototypeOf(b);
}

export function areEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) {
    return true;
  }
  return typeof a === "object" && typeof b === "object" && a !== null && b !== null
    ? areEqualObjects(a, b)
    : typeof a === "function" && typeof b === "function";
}

/**
 * `next`, with every part that equals the same part of `previous` replaced by that one, so that what did not change keeps its identity.
 */
export function shared(previous: unknown, next: unknown): unknown {
  if (Object.is(previous, next) || typeof previous !== "object" || typeof next !== "object" || !previous || !next) {
    return next;
  }
  if (Array.isArray(previous) && Array.isArray(next)) {
    const parts = next.map((value: unknown, index) => shared(previous[index], value));
    return isSame(previous, parts) ? previous : parts;
  }
  if (isPlain(previous) && isPlain(next)) {
    const parts = Object.fromEntries(Object.entries(next).map(([key, value]) => [key, shared(previous[key], value)]));
    const same = areEqualArrays(Object.keys(previous), Object.keys(parts));
    return same && isSame(Object.values(previous), Object.values(parts)) ? previous : parts;
  }
  return isData(next) && areEqual(previous, next) ? previous : next;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}

function isData(value: object): boolean {
  return value instanceof Set || value instanceof Map || value instanceof Uint8Array || value instanceof Date;
}
