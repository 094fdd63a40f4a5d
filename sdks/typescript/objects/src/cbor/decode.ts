/** Values from CBOR. Integers beyond 2^53 are `bigint`, byte strings are `Uint8Array`, and references are made by the host. */

import { decode, type TagDecodeControl } from "cborg";

import { REF_NAME, REF_TAG } from "./encode.js";

/** Makes the reference of an object. */
export type RefMaker = (className: string, id: string) => unknown;

/** Throws an error for people if the bytes are no CBOR, or hold what JavaScript does not have. */
export function decodeValue(bytes: Uint8Array, makeRef: RefMaker): unknown {
  return decode(bytes, { rejectDuplicateMapKeys: true, tags: { [REF_TAG]: (content) => ref(content, makeRef) } });
}

/** The arguments of a call. */
export function decodeArguments(bytes: Uint8Array, makeRef: RefMaker): unknown[] {
  // Most calls of some apps have none.
  const given = bytes.length === 1 && bytes[0] === 0x80 ? [] : decodeValue(bytes, makeRef);
  if (!Array.isArray(given)) {
    throw new TypeError("the arguments are no array");
  }
  return given;
}

/** The state of an object. */
export function decodeState(bytes: Uint8Array, makeRef: RefMaker): Record<string, unknown> {
  const state = decodeValue(bytes, makeRef);
  if (typeof state !== "object" || state === null || Object.getPrototypeOf(state) !== Object.prototype) {
    throw new TypeError("the state is no map");
  }
  if (Object.hasOwn(state, "__proto__")) {
    throw new TypeError("the state has a property __proto__");
  }
  return state as Record<string, unknown>;
}

function ref(content: TagDecodeControl, makeRef: RefMaker): unknown {
  const parts = content();
  if (Array.isArray(parts) && parts.length === 3 && parts[0] === REF_NAME && typeof parts[1] === "string" && typeof parts[2] === "string") {
    return makeRef(parts[1], parts[2]);
  }
  throw new TypeError(`a tag ${REF_TAG} is no reference to an object`);
}
