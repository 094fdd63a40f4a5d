/** Kinds of values that rules compare, and constants as rules write them. */

import type { Id } from "../id.js";
import type { Column, ScalarName } from "../schema/column.js";
import { RuleProblem } from "./problem.js";

/** The types whose values a rule compares. A whole number and a float are one type in TypeScript; `defineRights` keeps them apart. */
export interface LiteralOf {
  readonly bool: boolean;
  readonly number: number | bigint;
  readonly string: string;
  readonly bytes: Uint8Array;
  readonly id: Id;
}

export type Kind = keyof LiteralOf;

/** The kind of a column's values. Never: no rule compares them. */
export type KindOf<T> = T extends boolean
  ? "bool"
  : T extends number | bigint
    ? "number"
    : T extends Id
      ? "id"
      : T extends string
        ? "string"
        : T extends Uint8Array
          ? "bytes"
          : never;

/** A constant, or null where a column may be null. */
export type Constant<K extends Kind, N extends boolean> = LiteralOf[K] | (N extends true ? null : never);

/** The value that a test looks at, as far as it is known here. */
export interface Holds {
  /** Undefined: only the token says it. */
  readonly scalar: ScalarName | undefined;
  /** The name under which errors speak of it. */
  readonly name: string;
}

/** The type of a column's values, and whether it is one value or a set. Undefined: no rule can look at it. */
export function shapeOf(column: Column): { readonly scalar: ScalarName; readonly isSet: boolean } | undefined {
  const { type, of } = column.json;
  switch (type) {
    case "register":
      return of === undefined || of === "blob" ? undefined : { scalar: of, isSet: false };
    case "counter":
      return { scalar: "int", isSet: false };
    case "set":
      return of === undefined ? undefined : { scalar: of, isSet: true };
    case "list":
    case "map":
    case "text":
    case "blob":
      return undefined;
    default:
      return { scalar: type, isSet: false };
  }
}

/** A constant as rules in JSON spell it: null, or an object with its type. */
export function literal(value: unknown, { scalar, name }: Holds): unknown {
  if (value === null) {
    return null;
  }
  const type = scalar ?? typeOfClaim(value);
  const written = type === undefined ? undefined : WRITTEN[type](value);
  if (type === undefined || written === undefined) {
    const wanted = scalar === undefined ? "a text, a whole number, true or false" : `of type ${scalar}`;
    throw new RuleProblem(`${name} is compared with ${shown(value)}, which is not ${wanted}${remedy(value)}`);
  }
  return { [type]: written };
}

function typeOfClaim(value: unknown): ScalarName | undefined {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
    case "bigint":
      return "int";
    default:
      return undefined;
  }
}

function remedy(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return ": a claim is written user.claim(\"team\"), and a column row.owner";
    case "function":
      return ": call it";
    default:
      return "";
  }
}

/** For errors. */
export function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : typeof value === "object" && value !== null ? "an object" : String(value).slice(0, 64);
}

/** A value as servers read it. Undefined: it is of another type. */
export function written(scalar: ScalarName, value: unknown): unknown {
  return WRITTEN[scalar](value);
}

const LEAST_INT = -(2n ** 63n);
const MOST_INT = 2n ** 63n - 1n;

/** As much as servers read without rounding. Other floats are written as texts. */
const DIGITS = 15;
const EXPONENT = 22;

/** A value as `iolite_values::Scalar::to_json` writes it. Undefined: it is of another type. */
const WRITTEN: { readonly [S in ScalarName]: (value: unknown) => unknown } = {
  bool: (value) => (typeof value === "boolean" ? value : undefined),
  int: (value) => {
    if (Number.isSafeInteger(value)) {
      return value;
    }
    if (typeof value !== "bigint" || value < LEAST_INT || value > MOST_INT) {
      return undefined;
    }
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  },
  float: (value) => {
    if (typeof value !== "number" || Number.isNaN(value)) {
      return undefined;
    }
    const [digits = "", exponent = "0"] = value.toExponential().replace(/[-.]/, "").replace(".", "").split("e");
    return Number.isFinite(value) && digits.length <= DIGITS && Math.abs(Number(exponent)) + digits.length <= EXPONENT ? value : String(value);
  },
  string: (value) => (typeof value === "string" ? value : undefined),
  bytes: (value) =>
    value instanceof Uint8Array ? Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("") : undefined,
  id: (value) => (typeof value === "string" && /^[0-9a-f]{32}$/.test(value) ? value : undefined),
  blob: () => undefined,
};
