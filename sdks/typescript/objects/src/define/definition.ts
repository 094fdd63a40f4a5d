/**
 * Definitions make classes those of objects: the name, what devices may do with its objects, and its methods.
 *
 * Invariant: a method can be called from elsewhere only if it stands here.
 */

import type { Parser } from "@iolite/client";

import type { ManagerText } from "../deployment.js";
import { type MethodName, NO_METHODS } from "../refs.js";
import { marksOf } from "./marks.js";

/** The most that devices of users may do with objects of a class. Servers may do everything. Who holds an object decides its state. */
export type Devices = "call" | "read" | "hold";

export interface ClassOptions {
  /** `call`: devices call methods. `read`: they may hold copies. `hold`: objects may live on them, and begin at the device that creates them. */
  readonly devices?: Devices;
  /** The version of the methods: a call between two versions is refused. By default 1. */
  readonly version?: number;
  /** The managers: they say who runs calls, where objects live, and what happens when a machine ends. `[leaseCaching({ leaseMs: 5000 })]`, for instance. By default there are none: an object stays where it began. Those that are built in only: a host in TypeScript cannot have managers of an app's own, nor call objects with such. */
  readonly managers?: readonly ManagerText[];
}

/** As `ClassOptions`, with what the decorators `read` and `args` say. */
export interface DefineOptions<T> extends ClassOptions {
  /** Methods that only read: they run side by side. */
  readonly read?: readonly MethodName<T>[];
  /** Parsers of the arguments of methods, as arrays: they look before a method runs. */
  readonly args?: { readonly [K in MethodName<T>]?: ParserOf<T[K]> };
}

type ParserOf<M> = M extends (...args: infer Args) => unknown ? Parser<Readonly<Args>> : never;

/** A class that was defined as one of objects. */
export type ObjectClass<T> = abstract new (...args: never) => T;

type Method = (...args: unknown[]) => unknown;

export interface Definition {
  readonly name: string;
  readonly version: number;
  readonly devices: Devices;
  /** In their text. */
  readonly managers: string;
  readonly prototype: object;
  /** All that can be called. */
  readonly methods: ReadonlyMap<string, Method>;
  readonly reads: ReadonlySet<string>;
  readonly parsers: ReadonlyMap<string, Parser<readonly unknown[]>>;
}

/** Two copies of this package in one program have it in common. */
const DEFINITION = Symbol.for("iolite.objects.definition");

const OPTIONS = ["devices", "version", "managers", "read", "args"];
const DEVICES: readonly unknown[] = ["call", "read", "hold"] satisfies Devices[];
const LAST_VERSION = 2 ** 32 - 1;

/**
 * Says that objects of a class can be created, found and called from elsewhere. Everybody knows the class by `name`: bundlers rename classes.
 *
 * @throws TypeError for a name or an option that cannot be.
 */
export function defineObject<T extends object>(name: string, type: ObjectClass<T>, options: DefineOptions<T> = {}): void {
  if (typeof type !== "function" || typeof type.prototype !== "object") {
    throw new TypeError(`defineObject(${JSON.stringify(name)}, ...) needs a class`);
  }
  const methods = methodsOf(name, type.prototype as object);
  const reads = new Set<string>(options.read);
  const parsers = new Map(Object.entries(options.args ?? {}) as [string, Parser<readonly unknown[]>][]);
  for (const [method, run] of methods) {
    const marks = marksOf(run);
    if (marks?.reads === true) {
      reads.add(method);
    }
    if (marks?.parser !== undefined && !parsers.has(method)) {
      parsers.set(method, marks.parser);
    }
  }
  const { devices = "call", version = 1, managers = [] } = options;
  check(name, options, [...reads, ...parsers.keys()].filter((method) => !methods.has(method)));
  const definition: Definition = { name, version, devices, managers: managers.join("; "), prototype: type.prototype as object, methods, reads, parsers };
  Object.defineProperty(type, DEFINITION, { value: definition });
}

/** The definition of a class, but not that of a class that it extends. */
export function definitionOf(type: unknown): Definition | undefined {
  return typeof type === "function" && Object.hasOwn(type, DEFINITION) ? (type as { [DEFINITION]?: Definition })[DEFINITION] : undefined;
}

/** @throws TypeError when the class was not defined. */
export function definitionFor(type: unknown): Definition {
  const definition = definitionOf(type);
  if (definition === undefined) {
    const name = typeof type === "function" ? type.name : String(type);
    throw new TypeError(`${name} is no class of objects: write @sapphire("${name}") above it, or call defineObject("${name}", ${name})`);
  }
  return definition;
}

function check(name: string, options: ClassOptions, missing: readonly string[]): void {
  const refuse = (problem: string): never => {
    throw new TypeError(`the class of objects ${JSON.stringify(name)}: ${problem}`);
  };
  if (typeof name !== "string" || name === "" || new TextEncoder().encode(name).length > 64) {
    refuse("its name is a text of 1 to 64 bytes");
  }
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined) {
    refuse(`there is no option ${JSON.stringify(unknown)}, only ${OPTIONS.join(", ")}`);
  }
  const { devices = "call", version = 1, managers = [] } = options;
  if (!DEVICES.includes(devices)) {
    refuse(`devices is "call", "read" or "hold", not ${JSON.stringify(devices)}`);
  }
  if (!Number.isInteger(version) || version < 1 || version > LAST_VERSION) {
    refuse(`version is a whole number from 1, not ${String(version)}`);
  }
  if (!Array.isArray(managers) || managers.some((manager) => typeof manager !== "string")) {
    refuse("managers is a list of managers, such as [leaseCaching()]");
  }
  if (missing.length > 0) {
    refuse(`it has no method ${missing.map((method) => JSON.stringify(method)).join(", ")} that can be called, but read or args names one`);
  }
}

/** The methods of a class and of those that it extends. Getters, setters and names that begin with `_` are the object's own. */
function methodsOf(name: string, prototype: object): Map<string, Method> {
  const methods = new Map<string, Method>();
  for (let level = prototype; level !== Object.prototype && level !== null; level = Object.getPrototypeOf(level) as object) {
    for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof value !== "function" || method === "constructor" || method.startsWith("_") || methods.has(method)) {
        continue;
      }
      if (method === "className" || method === "id" || method === "then") {
        throw new TypeError(`the class of objects ${JSON.stringify(name)}: references cannot have a method ${method}, give it another name`);
      }
      if (!NO_METHODS.includes(method)) {
        methods.set(method, value as Method);
      }
    }
  }
  return methods;
}
