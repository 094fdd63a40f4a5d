/**
 * Checks of what an app hands over. TypeScript forbids most of what is refused here, and JavaScript lets it through.
 *
 * Invariant: a getter, a proxy or an iterator of the app runs inside of a check, which copies what it gives. The core gets copies only.
 */

import { Abort, IntegerRangeError, IoliteError, Stopped, TransactionError } from "../errors.js";

/** `call`: of the client. `transaction`: within a closure, and of a live binding. */
export type RefusalCode = "call" | "transaction";

export type Member = readonly [name: string, value: unknown];

/** A refusal, which names the argument. */
export function refusal(code: RefusalCode, message: string, options?: ErrorOptions): IoliteError {
  return code === "transaction" ? new TransactionError(message, code, options) : new IoliteError(code, message, options);
}

/** The text of anything. Some objects have none, and some getters throw. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "something that has no text";
  }
}

/** Names a value in a message: its type, or the value itself if it is short. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 64 ? value.slice(0, 64) : value);
    case "number":
    case "boolean":
    case "undefined":
      return String(value);
    case "bigint":
      return `${value}n`;
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    case "object":
      return value === null ? "null" : "an object";
  }
}

/** Copies what an app handed over. What its own code throws meanwhile becomes the cause of a refusal, but for what closures throw on purpose. */
export function copied<T>(code: RefusalCode, name: string, copy: () => T): T {
  try {
    return copy();
  } catch (thrown) {
    if (isOwn(thrown)) {
      throw thrown;
    }
    throw refusal(code, `${name} cannot be read: ${textOf(thrown)}`, { cause: thrown });
  }
}

function isOwn(thrown: unknown): boolean {
  return isInstance(thrown, IoliteError) || isInstance(thrown, Abort) || isInstance(thrown, IntegerRangeError) || isInstance(thrown, Stopped);
}

/** As `instanceof`, which a proxy can make throw. */
export function isInstance<T>(value: unknown, of: abstract new (...args: never) => T): value is T {
  try {
    return value instanceof of;
  } catch {
    return false;
  }
}

/** Whether it is an object that was written down as such, in any realm: a Date, a Map or an array is none. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || (Object.getPrototypeOf(prototype) === null && !Array.isArray(value));
}

/** The members of a row, or of changes. An object without any that is not plain, such as a Map, is a mistake. */
export function membersOf(given: unknown, code: RefusalCode, name: string): Member[] {
  return copied(code, name, () => {
    const members = typeof given === "object" && given !== null ? Object.entries(given) : [];
    if (members.length === 0 && !isPlainObject(given)) {
      throw refusal(code, `${name} is an object with columns, not ${shown(given)}`);
    }
    return members;
  });
}

/** The members of a plain object. */
export function plainMembersOf(given: unknown, code: RefusalCode, name: string): Member[] {
  return copied(code, name, () => {
    if (!isPlainObject(given)) {
      throw refusal(code, `${name} is a plain object, not ${shown(given)}`);
    }
    return Object.entries(given);
  });
}

/** Options by their names. One that is misspelt, or undefined, would say less than was meant. */
export function optionsOf(given: unknown, known: readonly string[], code: RefusalCode, name: string): Readonly<Record<string, unknown>> {
  const options = plainMembersOf(given, code, name);
  for (const [option, value] of options) {
    if (!known.includes(option)) {
      throw refusal(code, `${name} has no option ${JSON.stringify(option)}: there are ${known.join(", ")}`);
    }
    if (value === undefined) {
      throw refusal(code, `${name}: the option ${JSON.stringify(option)} is undefined: leave it out to ask nothing of it`);
    }
  }
  return Object.fromEntries(options);
}

export function functionOf<F>(given: F, code: RefusalCode, name: string): F {
  if (typeof given !== "function") {
    throw refusal(code, `${name} is a function, not ${shown(given)}`);
  }
  return given;
}

/** One of some words. */
export function wordOf<W extends string>(given: unknown, words: readonly W[], code: RefusalCode, name: string): W {
  if (typeof given !== "string" || !words.includes(given as W)) {
    throw refusal(code, `${name} is one of ${words.map((word) => JSON.stringify(word)).join(", ")}, not ${shown(given)}`);
  }
  return given as W;
}

/** More than any text or value may have, and few enough for the core's memory. */
const TEXT_UNITS_MAX = 2 ** 24;

export function textArgument(given: unknown, code: RefusalCode, name: string): string {
  if (typeof given !== "string") {
    throw refusal(code, `${name} is a string, not ${shown(given)}`);
  }
  if (given.length > TEXT_UNITS_MAX) {
    throw refusal(code, `${name} has ${given.length} characters, more than ${TEXT_UNITS_MAX}`);
  }
  return given;
}

/** The core counts rows and places in 32 bits. */
const INDEX_MAX = 2 ** 32 - 1;

/** A whole number of 32 bits from 0, as a place in a list. */
export function indexArgument(given: unknown, code: RefusalCode, name: string): number {
  if (typeof given !== "number" || !Number.isInteger(given) || given < 0 || given > INDEX_MAX) {
    throw refusal(code, `${name} is a whole number from 0 to ${INDEX_MAX}, not ${shown(given)}`);
  }
  return given;
}

/** A whole number: negative ones count from the end. */
export function placeArgument(given: unknown, code: RefusalCode, name: string): number {
  if (typeof given !== "number" || !Number.isInteger(given)) {
    throw refusal(code, `${name} is a whole number, not ${shown(given)}`);
  }
  return given;
}

/** Whether it has half of a character, so that it cannot be encoded. */
export function hasHalfCharacter(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
