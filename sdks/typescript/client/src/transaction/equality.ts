/** Deep comparison of plain data: what closures return and what they ask for. */

import { type BlobContent, BlobValue } from "../blob/value.js";
import { hasHidden, membersWithFailures } from "./hidden.js";

export function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Says of two functions, or objects of classes that are not known here, whether they count as equal. */
type Others = (a: object, b: object) => boolean;

/** They are made anew by every run, and say nothing about what they hold. */
const ofOneKind: Others = (a, b) => typeof a === typeof b && Object.getPrototypeOf(a) === Object.getPrototypeOf(b);

/** What they hold may have changed. */
const never: Others = () => false;

function areEqualArrays(a: readonly unknown[], b: readonly unknown[], others: Others): boolean {
  return a.length === b.length && a.every((value, index) => equal(value, b[index], others));
}

function areEqualObjects(a: object, b: object, others: Others): boolean {
  if (hasHidden(a) || hasHidden(b)) {
    return hasHidden(a) && hasHidden(b) && areEqualObjects(membersWithFailures(a), membersWithFailures(b), others);
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return areEqualArrays(a, b, others);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return a.length === b.length && a.every((byte, index) => byte === b[index]);
  }
  const [ofA, ofB] = [BlobValue.contentOf(a), BlobValue.contentOf(b)];
  if (ofA !== undefined && ofB !== undefined) {
    return areEqualBlobs(a as BlobValue, b as BlobValue, ofA, ofB);
  }
  if ((a instanceof Set && b instanceof Set) || (a instanceof Map && b instanceof Map)) {
    return areEqualArrays(Array.from(a), Array.from(b), others);
  }
  if (a instanceof Date && b instanceof Date) {
    return a.getTime() === b.getTime();
  }
  if (isPlain(a) && isPlain(b)) {
    const keys = Object.keys(a);
    return areEqualArrays(keys, Object.keys(b), others) && keys.every((key) => equal(a[key], b[key], others));
  }
  return others(a, b);
}

/** Equal length and digest say the same as equal content, whatever the leases of their chunks. */
function areEqualBlobs(a: BlobValue, b: BlobValue, ofA: BlobContent, ofB: BlobContent): boolean {
  if (typeof ofA === "string" || typeof ofB === "string") {
    return a.length === b.length && a.digest === b.digest;
  }
  return ofA.length === ofB.length && ofA.every((byte, index) => byte === ofB[index]);
}

function equal(a: unknown, b: unknown, others: Others): boolean {
  if (Object.is(a, b)) {
    return true;
  }
  if (typeof a === "object" && typeof b === "object" && a !== null && b !== null) {
    return areEqualObjects(a, b, others);
  }
  return typeof a === "function" && typeof b === "function" && others(a, b);
}

/** What stands for each object of `next`: one that is there in two places stays one. */
type Stand = Map<object, unknown>;

function sharing(previous: unknown, next: unknown, stand: Stand): unknown {
  if (Object.is(previous, next) || typeof previous !== "object" || typeof next !== "object" || !previous || !next) {
    return typeof next === "object" && next !== null ? (stand.get(next) ?? next) : next;
  }
  const known = stand.get(next);
  if (known !== undefined) {
    return known;
  }
  const result = sharingParts(previous, next, stand);
  stand.set(next, result);
  return result;
}

function sharingParts(previous: object, next: object, stand: Stand): unknown {
  if (hasHidden(previous) || hasHidden(next)) {
    return areEqualObjects(previous, next, never) ? previous : next;
  }
  if (Array.isArray(previous) && Array.isArray(next)) {
    const parts = next.map((value: unknown, index) => sharing(previous[index], value, stand));
    return isSame(previous, parts) ? previous : isSame(next, parts) ? next : asFrozenAs(next, parts);
  }
  if (isPlain(previous) && isPlain(next)) {
    const parts = Object.fromEntries(Object.entries(next).map(([key, value]) => [key, sharing(previous[key], value, stand)]));
    const values = Object.values(parts);
    const same = isSame(Object.keys(previous), Object.keys(parts)) && isSame(Object.values(previous), values);
    return same ? previous : isSame(Object.values(next), values) ? next : asFrozenAs(next, parts);
  }
  return isData(next) && equal(previous, next, never) ? previous : next;
}

function asFrozenAs<T extends object>(next: object, parts: T): T {
  return Object.isFrozen(next) ? Object.freeze(parts) : parts;
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
}

function isData(value: object): boolean {
  return value instanceof Set || value instanceof Map || value instanceof Uint8Array || value instanceof Date || BlobValue.contentOf(value) !== undefined;
}

/** What an app's values do when they are walked through is the app's: they may hold themselves, or have getters that throw. */
function walked<T>(walk: () => T): T | undefined {
  try {
    return walk();
  } catch {
    return undefined;
  }
}

/** Whether two values hold the same. Of those that cannot be walked through nobody can say that they differ. */
export function areEqual(a: unknown, b: unknown): boolean {
  return walked(() => equal(a, b, ofOneKind)) ?? true;
}

/**
 * `next`, with every part that equals the same part of `previous` replaced by that one, so that what did not change keeps its identity.
 * If it cannot be walked through: as it is.
 */
export function shared(previous: unknown, next: unknown): unknown {
  return walked(() => sharing(previous, next, new Map())) ?? next;
}
