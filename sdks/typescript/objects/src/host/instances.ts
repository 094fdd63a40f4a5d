/**
 * The objects that are here, and the runs of their methods.
 *
 * Invariants:
 * - constructors run once in the life of an object: whoever has it later gets its prototype and its state;
 * - each run ends once, whatever its method does;
 * - where objects are kept, the state that a method leaves is on the disk before its run ends.
 */

import { decodeArguments, decodeState } from "../cbor/decode.js";
import { encodeResult, encodeState, encodeThrown } from "../cbor/encode.js";
import type { Definition } from "../define/definition.js";
import type { KeptObject, Shelf } from "../keep/shelf.js";
import { type Caller, makeRef } from "../refs.js";
import type { Instance, Run, RunScope } from "../runs.js";
import type { Device } from "../wasm/iolite_wasm_objects.js";
import type { ObjectHost } from "./types.js";

interface Held extends Instance {
  readonly definition: Definition;
  /** The epoch with which its state is kept. `undefined`: it is not. */
  readonly keep: number | undefined;
  /** An earlier page has kept it, and none of its methods has run here: it may be another node's. */
  isDoubtful: boolean;
}

/** A call of a method, as the module gives it. */
export interface Call {
  readonly number: number;
  readonly className: string;
  readonly id: string;
  readonly method: string;
  readonly args: Uint8Array;
  readonly caller: string;
}

export class Instances {
  readonly #held = new Map<string, Held>();

  constructor(
    readonly definitions: ReadonlyMap<string, Definition>,
    readonly host: ObjectHost & Caller,
    readonly scope: RunScope,
    readonly shelf: Shelf | undefined,
    readonly tell: (act: (device: Device) => void) => void,
  ) {}

  /** Whether an object is here. */
  has(className: string, id: string): boolean {
    return this.#held.get(`${className}/${id}`)?.isDoubtful === false;
  }

  /** Makes what an earlier page has kept. Whether it can: an object of another class, or of another version, stays on the disk. */
  bringBack({ className, id, version, state, epoch }: KeptObject): boolean {
    if (this.definitions.get(className)?.version !== version) {
      return false;
    }
    try {
      this.#held.set(`${className}/${id}`, this.#made(className, state, epoch, true));
      return true;
    } catch {
      return false;
    }
  }

  restore(className: string, id: string, bytes: Uint8Array, keep: number | undefined): void {
    const name = `${className}/${id}`;
    const restored = (problem?: string): void => this.tell((device) => device.restored(className, id, problem));
    try {
      const before = this.#held.get(name);
      const held = this.#made(className, bytes, keep);
      this.#held.set(name, held);
      // An object that has gone meanwhile, or has another state, is not answered for.
      const isHere = (): boolean => this.#held.get(name) === held;
      const failed = (problem: string): void => {
        if (isHere()) {
          before === undefined ? this.#held.delete(name) : this.#held.set(name, before);
          restored(problem);
        }
      };
      this.#keep(held, id, bytes, () => isHere() && restored(), failed);
    } catch (error) {
      restored(`there is no ${className} of this state: ${messageOf(error)}`);
    }
  }

  forget(className: string, id: string): void {
    this.#held.delete(`${className}/${id}`);
    this.shelf?.remove(className, id);
  }

  /** Says `kept` when the state is on the disk, or at once if it is not to be there. */
  #keep({ definition, keep: epoch }: Held, id: string, state: Uint8Array, kept: () => void, failed: (problem: string) => void): void {
    if (this.shelf === undefined || epoch === undefined) {
      return kept();
    }
    const { name: className, version } = definition;
    this.shelf
      .put({ className, id, version, epoch, state })
      .then(kept, (error: unknown) => failed(`${className}/${id} could not be kept on this device: ${messageOf(error)}`));
  }

  /** The state of an object that is to move. None of its methods runs. */
  save(className: string, id: string): void {
    let state: Uint8Array = new Uint8Array();
    let problem: string | undefined;
    try {
      const held = this.#held.get(`${className}/${id}`);
      if (held === undefined) {
        throw new TypeError("it is not here");
      }
      state = encodeState(held.object, className);
    } catch (error) {
      problem = `the state of ${className} ${id} cannot be written: ${messageOf(error)}`;
    }
    this.tell((device) => device.saved(className, id, state, problem));
  }

  run(call: Call): void {
    const held = this.#held.get(`${call.className}/${call.id}`);
    const method = held?.definition.methods.get(call.method);
    if (held === undefined || method === undefined) {
      return this.tell((device) => device.noSuchMethod(call.number));
    }
    held.isDoubtful = false;
    const context = { caller: call.caller, className: call.className, id: call.id, host: this.host };
    const run: Run = { number: call.number, context, instance: held, ended: false };
    let args: readonly unknown[];
    try {
      args = this.#arguments(held, run, call);
    } catch (error) {
      return this.tell((device) => device.badArguments(call.number, problemOf(call.method, error)));
    }
    held.runs.add(run);
    try {
      const result = this.scope.within(run, () => method.apply(held.object, args as unknown[]));
      if (isThenable(result)) {
        result.then(
          (value) => this.#returned(run, held, call, value),
          (error: unknown) => this.#threw(run, held, call, error),
        );
      } else {
        this.#returned(run, held, call, result);
      }
    } catch (error) {
      this.#threw(run, held, call, error);
    }
  }

  #made(className: string, bytes: Uint8Array, keep: number | undefined, isDoubtful = false): Held {
    const definition = this.definitions.get(className);
    if (definition === undefined) {
      throw new TypeError(`the class ${className} is not here`);
    }
    const object = Object.create(definition.prototype) as object;
    const held: Held = { object, definition, keep, isDoubtful, runs: new Set() };
    const state = decodeState(bytes, (type, id) => makeRef({ className: type, id, caller: this.host, place: { instance: held, run: undefined } }));
    for (const [key, value] of Object.entries(state)) {
      // Not assigned: a setter of the class would run, or refuse it.
      Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
    }
    return held;
  }

  #arguments(held: Held, run: Run, { method, args }: Call): readonly unknown[] {
    const given = decodeArguments(args, (className, id) => makeRef({ className, id, caller: this.host, place: { instance: held, run } }));
    const parser = held.definition.parsers.get(method);
    const parsed = parser === undefined ? given : parser.parse(given);
    if (!Array.isArray(parsed)) {
      throw new TypeError("their parser gives no array");
    }
    return parsed;
  }

  #returned(run: Run, held: Held, call: Call, value: unknown): void {
    let result: Uint8Array;
    try {
      result = encodeResult(value, `${call.className}.${call.method}`);
    } catch (error) {
      return this.#end(run, held, call, (device) => device.broke(run.number, messageOf(error)));
    }
    this.#end(run, held, call, (device) => device.returned(run.number, result));
  }

  #threw(run: Run, held: Held, call: Call, thrown: unknown): void {
    let error: Uint8Array;
    try {
      error = encodeThrown(thrown);
    } catch (unsent) {
      return this.#end(run, held, call, (device) => device.broke(run.number, messageOf(unsent)));
    }
    this.#end(run, held, call, (device) => device.threw(run.number, error));
  }

  #end(run: Run, held: Held, { className, id, method }: Call, act: (device: Device) => void): void {
    run.ended = true;
    run.instance.runs.delete(run);
    // An object that has gone meanwhile is not kept any more.
    const isHere = this.#held.get(`${className}/${id}`) === held;
    if (this.shelf === undefined || held.keep === undefined || !isHere || held.definition.reads.has(method)) {
      return this.tell(act);
    }
    const failed = (problem: string): void => this.tell((device) => device.broke(run.number, problem));
    try {
      this.#keep(held, id, encodeState(held.object, className), () => this.tell(act), failed);
    } catch (error) {
      failed(`the state of ${className}/${id} cannot be written: ${messageOf(error)}`);
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** The problem of arguments, for people. Parsers such as zod's have a list of it. */
function problemOf(method: string, error: unknown): string {
  const issues = (error as { issues?: unknown } | undefined)?.issues;
  const listed = Array.isArray(issues) ? issues.map(issueText).join("; ") : messageOf(error);
  return `the arguments of ${method} do not fit: ${listed}`;
}

function issueText({ path, message }: { path?: readonly unknown[]; message?: unknown }): string {
  const [place, ...inner] = path ?? [];
  const at = typeof place === "number" ? `argument ${place + 1}${inner.map((part) => `.${String(part)}`).join("")}: ` : "";
  return `${at}${String(message)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
