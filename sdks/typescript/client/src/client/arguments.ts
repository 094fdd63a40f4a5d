/**
 * Arguments of mutations as JSON, since they are stored. Besides plain data they may hold bigints and bytes, which JSON lacks:
 * `{"$bigint": "1"}` and `{"$bytes": "AQ=="}`; a name of the caller's own that begins with `$` gets another one in front. No arguments
 * are stored as `null`, so a `null` that is the only argument is `{"$null": true}`.
 */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** @throws TypeError for what cannot be stored, such as a Date, a class or a function. */
export function encodeArguments(args: unknown): string {
  if (args === null) {
    return JSON.stringify(NULL);
  }
  try {
    return JSON.stringify(args === undefined ? null : encode(args, "the arguments"));
  } catch (thrown) {
    // The stack was too short for them.
    throw thrown instanceof RangeError ? new TypeError("the arguments hold themselves, or are nested too deeply") : thrown;
  }
}

export function decodeArguments(json: string): unknown {
  const stored = JSON.parse(json) as Json;
  if (stored === null) {
    return undefined;
  }
  return typeof stored === "object" && !Array.isArray(stored) && stored["$null"] === NULL.$null ? null : decode(stored);
}

const NULL = { $null: true };

function encode(value: unknown, place: string): Json {
  switch (typeof value) {
    case "boolean":
    case "string":
      return value;
    case "number":
      if (Number.isFinite(value)) {
        return value;
      }
      throw new TypeError(`${place}: ${value} cannot be stored`);
    case "bigint":
      return { $bigint: value.toString() };
    case "object":
      return value === null ? null : encodeObject(value, place);
    case "undefined":
    case "function":
    case "symbol":
      throw new TypeError(`${place}: ${typeof value} cannot be stored`);
  }
}

function encodeObject(value: object, place: string): Json {
  if (value instanceof Uint8Array) {
    return { $bytes: btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join("")) };
  }
  if (Array.isArray(value)) {
    return value.map((element, index) => encode(element, `${place}[${index}]`));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`${place}: only plain objects, arrays, bigints and Uint8Arrays can be stored`);
  }
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    entries.map(([name, each]) => [name.startsWith("$") ? `$${name}` : name, encode(each, `${place}.${name}`)]),
  );
}

function decode(json: Json): unknown {
  if (typeof json !== "object" || json === null) {
    return json;
  }
  if (Array.isArray(json)) {
    return json.map(decode);
  }
  if (typeof json["$bigint"] === "string") {
    return BigInt(json["$bigint"]);
  }
  if (typeof json["$bytes"] === "string") {
    return Uint8Array.from(atob(json["$bytes"]), (character) => character.charCodeAt(0));
  }
  return Object.fromEntries(
    Object.entries(json).map(([name, each]) => [name.startsWith("$") ? name.slice(1) : name, decode(each)]),
  );
}
