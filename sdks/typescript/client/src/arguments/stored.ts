/**
 * Arguments of mutations as JSON, since they are stored. Besides plain data they may hold bigints, bytes and blobs, which JSON lacks:
 * `{"$bigint": "1"}`, `{"$bytes": "AQ=="}` and `{"$blob": "AQ=="}`; a name of the caller's own that begins with `$` gets another one in front. No arguments
 * are stored as `null`, so a `null` that is the only argument is `{"$null": true}`.
 *
 * Invariant: nothing of what was given is left out. A member that is undefined, or a hole of an array, is refused.
 */

import { blobOf } from "../blob/blobOf.js";
import { blobOfTree, BlobValue } from "../blob/value.js";
import { copied, isPlainObject, refusal, shown } from "./checks.js";
import { bytesOf, elementsOf, isArray, isBytes } from "./values.js";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** @throws code `call` for what cannot be stored, such as a Date, a class, a function or a member that is undefined. */
export function encodeArguments(args: unknown): string {
  if (args === null) {
    return JSON.stringify(NULL);
  }
  return copied("call", "the arguments", () => {
    try {
      return JSON.stringify(args === undefined ? null : encode(args, "the arguments"));
    } catch (thrown) {
      // The stack was too short for them, or the text is too long.
      throw thrown instanceof RangeError ? refusal("call", "the arguments hold themselves, are nested too deeply or are too long") : thrown;
    }
  });
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
      throw refusal("call", `${place}: ${value} cannot be stored`);
    case "bigint":
      return { $bigint: value.toString() };
    case "object":
      return value === null ? null : encodeObject(value, place);
    case "undefined":
      throw refusal("call", `${place}: undefined cannot be stored: leave it out, or say null`);
    case "function":
    case "symbol":
      throw refusal("call", `${place}: ${shown(value)} cannot be stored`);
  }
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function encodeObject(value: object, place: string): Json {
  if (isBytes(value)) {
    return { $bytes: base64(bytesOf(value, "call", place)) };
  }
  const blob = BlobValue.contentOf(value);
  if (blob !== undefined) {
    return typeof blob === "string" ? (JSON.parse(blob) as Json) : { $blob: base64(blob) };
  }
  if (isArray(value)) {
    return elementsOf(value, "call", place).map((element, index) => encode(element, `${place}[${index}]`));
  }
  if (!isPlainObject(value)) {
    throw refusal("call", `${place}: only plain objects, arrays, bigints, Uint8Arrays and blobs can be stored`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name.startsWith("$") ? `$${name}` : name, encode(each, `${place}.${name}`)]),
  );
}

function bytesIn(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
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
    return bytesIn(json["$bytes"]);
  }
  if (typeof json["$blob"] === "string") {
    return blobOf(bytesIn(json["$blob"]));
  }
  if (typeof json["$blob"] === "object" && json["$blob"] !== null) {
    return blobOfTree(json["$blob"] as never);
  }
  return Object.fromEntries(
    Object.entries(json).map(([name, each]) => [name.startsWith("$") ? name.slice(1) : name, decode(each)]),
  );
}
