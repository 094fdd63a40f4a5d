/**
 * The host of a process: what the app asks, by tickets, and what comes back.
 *
 * Invariant: every ticket is answered once: by the kernel, when its time is over, or when the host is closed.
 */

import { CallError, callErrorOf, type Failure, notRun } from "../callError.js";
import { decodeValue, type RefMaker } from "../cbor/decode.js";
import { encodeArguments, encodeState } from "../cbor/encode.js";
import { type Definition, definitionFor, type ObjectClass } from "../define/definition.js";
import { isKeptInCloud } from "../deployment.js";
import { newId } from "../id.js";
import type { KeptObject, Shelf } from "../keep/shelf.js";
import type { Platform } from "../platform/platform.js";
import { type Caller, makeRef, type Ref, type RefTarget } from "../refs.js";
import { type Run, runOfCall } from "../runs.js";
import { Classes, Device, Resumed } from "../wasm/iolite_wasm_objects.js";
import { DeviceLoop } from "./deviceLoop.js";
import { Instances } from "./instances.js";
import { isToken, messageOf, NO_TOKEN } from "./tokens.js";
import type { Connection, ObjectHost, TokenFunction } from "./types.js";

/** Why a connection has ended that the app itself has closed. */
export const HOST_CLOSED = "the host was closed";

export interface Settings {
  readonly url: string;
  /** A function is asked for tokens. */
  readonly token: string | TokenFunction;
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly serves: boolean;
  /** The name of the node, as the module takes ids. */
  readonly node: string;
  /** Where its objects are kept, if they are. */
  readonly shelf: Shelf | undefined;
  readonly callMs: number;
  onConnection(connection: Connection): void;
  /** Something went wrong on the connection. */
  onTrouble(message: string): void;
}

/** How long a node that was busy is left alone first. */
const PAUSE_MS = 10;

interface Ticket {
  /** Names it in errors. */
  readonly what: string;
  readonly run: Run | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class Host implements ObjectHost, Caller {
  connection: Connection = { state: "lost" };
  node: string | undefined;
  readonly #tickets = new Map<number, Ticket>();
  #last = 0;
  #isClosed = false;
  readonly #instances: Instances;
  readonly #loop: DeviceLoop;
  /** Objects that are asked for now, by their names: two callers of `get` make one. */
  readonly #getting = new Map<string, Promise<unknown>>();
  /** Classes that the app has used here: a call says whose version it is. */
  readonly #known: Map<string, Definition>;

  constructor(
    readonly settings: Settings,
    readonly platform: Platform,
  ) {
    this.#known = new Map(settings.definitions);
    this.#instances = new Instances(settings.definitions, this, platform.scope, settings.shelf, (act) => this.#tell(act));
    const resumed = resumedOf(settings.shelf, (object) => this.#instances.bringBack(object));
    this.#loop = new DeviceLoop(platform, settings.url, this.#events(), deviceOf(settings, resumed));
  }

  async get<T extends object>(type: ObjectClass<T>, id: string, initial: () => T): Promise<Ref<T>> {
    const definition = this.#definition(type);
    const name = nameOf(definition, id);
    let getting = this.#getting.get(name);
    if (getting === undefined) {
      getting = this.#getOrCreate(definition, id, () => instanceOf(type, initial()));
      this.#getting.set(name, getting);
      const done = (): void => void this.#getting.delete(name);
      getting.then(done, done);
    }
    await getting;
    return this.#ref<T>(definition, id);
  }

  async create<T extends object>(type: ObjectClass<T>, id: string | undefined, initial: T): Promise<Ref<T>> {
    const definition = this.#definition(type);
    const own = id ?? newId();
    const state = encodeState(instanceOf(type, initial), definition.name);
    if (!(await this.#create(definition, own, state))) {
      throw new CallError("notRun", `${nameOf(definition, own)} was not created: it is there already. Use get to find or create it`, { reason: "conflict" });
    }
    return this.#ref<T>(definition, own);
  }

  async find<T extends object>(type: ObjectClass<T>, id: string): Promise<Ref<T> | undefined> {
    const definition = this.#definition(type);
    return (await this.#find(definition, id)) ? this.#ref<T>(definition, id) : undefined;
  }

  /** A reference calls a method. */
  call(target: RefTarget, method: string, args: readonly unknown[]): Promise<unknown> {
    const { className, id } = target;
    const definition = this.#known.get(className);
    const run = runOfCall(target, this.platform.scope);
    const what = `${className}/${id}.${method}`;
    return this.#ask(what, run, (ticket, device) => {
      const [version, reads] = [definition?.version ?? 1, definition?.reads.has(method) ?? false];
      const bytes = encodeArguments(args, `${className}.${method}`);
      device.call(ticket, className, id, version, method, reads, bytes, run?.number, this.settings.callMs);
    });
  }

  /** A manager of an object is told something. */
  manage({ className, id }: RefTarget, manager: string, word: string): Promise<unknown> {
    const what = `${className}/${id}: ${manager}`;
    return this.#ask(what, undefined, (ticket, device) => device.manage(ticket, className, id, manager, word));
  }

  close(): void {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#loop.close();
    this.settings.shelf?.close();
    this.#connectionIs({ state: "ended", message: HOST_CLOSED });
    for (const [number, { what }] of this.#tickets) {
      this.#taken(number)?.reject(new CallError("inDoubt", `${what} may have run: the host was closed before the answer came`));
    }
  }

  /** A node where the object begins at this moment says that it is busy: so a busy node is asked again, for as long as calls wait. */
  async #getOrCreate(definition: Definition, id: string, initial: () => object): Promise<void> {
    const until = performance.now() + this.settings.callMs;
    let state: Uint8Array | undefined;
    for (let pauseMs = PAUSE_MS; ; pauseMs *= 2) {
      if (this.#instances.has(definition.name, id) || (await this.#find(definition, id))) {
        return;
      }
      state ??= encodeState(initial(), definition.name);
      try {
        await this.#create(definition, id, state);
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() + pauseMs > until) {
          throw error;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Resolves to whether the object is new. */
  #create({ name, version, devices, managers }: Definition, id: string, state: Uint8Array): Promise<boolean> {
    const mayHold = devices === "hold" && !isKeptInCloud(managers);
    const here = this.settings.definitions.has(name) && (this.settings.serves || mayHold);
    const made = this.#ask(`creating ${name}/${text(id)}`, undefined, (ticket, device) => {
      device.create(ticket, name, text(id), version, devices, managers, state, here);
    });
    return this.#inTime(made) as Promise<boolean>;
  }

  /** Resolves to whether there is one. */
  #find({ name }: Definition, id: string): Promise<boolean> {
    const found = this.#ask(`finding ${name}/${text(id)}`, undefined, (ticket, device) => device.find(ticket, name, text(id)));
    return this.#inTime(found) as Promise<boolean>;
  }

  #ask(what: string, run: Run | undefined, act: (ticket: number, device: Device) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        throw notRun("unreachable", what);
      }
      const number = ++this.#last;
      this.#tickets.set(number, { what, run, resolve, reject });
      try {
        this.#loop.input((device) => act(number, device));
      } catch (error) {
        this.#tickets.delete(number);
        throw Array.isArray(error) ? callErrorOf(error as unknown as Failure, what, (bytes) => bytes) : error;
      }
    });
  }

  /** The kernel answers calls in time. For other questions, a server that says nothing is waited for as long. */
  async #inTime(asked: Promise<unknown>): Promise<unknown> {
    const number = this.#last;
    const timer = setTimeout(() => {
      const ticket = this.#taken(number);
      ticket?.reject(new CallError("inDoubt", `${ticket.what}: no answer came in ${this.settings.callMs} ms. Look whether the object is there`));
    }, this.settings.callMs);
    return asked.finally(() => clearTimeout(timer));
  }

  #taken(number: number): Ticket | undefined {
    const ticket = this.#tickets.get(number);
    this.#tickets.delete(number);
    return ticket;
  }

  #definition(type: ObjectClass<object>): Definition {
    const definition = definitionFor(type);
    const other = this.#known.get(definition.name);
    if (other !== undefined && other !== definition) {
      throw new TypeError(`two classes are called ${JSON.stringify(definition.name)}: give one of them another name`);
    }
    this.#known.set(definition.name, definition);
    return definition;
  }

  #ref<T>({ name }: Definition, id: string): Ref<T> {
    return makeRef({ className: name, id, caller: this, place: undefined }) as Ref<T>;
  }

  /** Makes the references in what a run has asked for. */
  #refsFor(run: Run | undefined): RefMaker {
    const place = run === undefined ? undefined : { instance: run.instance, run };
    return (className, id) => makeRef({ className, id, caller: this, place });
  }

  #tell(act: (device: Device) => void): void {
    if (!this.#isClosed) {
      this.#loop.input(act);
    }
  }

  /** The device has one question open at a time. */
  #askToken(): void {
    const { token } = this.settings;
    if (typeof token === "string") {
      return;
    }
    // Later, since the device works at this moment, and the function may use the host.
    void Promise.resolve()
      .then(() => token())
      .then(
        (given: unknown) => this.#tell((device) => (isToken(given) ? device.setToken(given) : device.tokenFailed(NO_TOKEN))),
        (error: unknown) => this.#tell((device) => device.tokenFailed(messageOf(error))),
      );
  }

  #connectionIs(connection: Connection): void {
    this.connection = connection;
    this.settings.onConnection(connection);
  }

  #events() {
    const answered = (number: number, value: (ticket: Ticket) => unknown, failure: unknown): void => {
      const ticket = this.#taken(number);
      if (ticket === undefined) {
        return;
      }
      const decode = (bytes: Uint8Array): unknown => decodeValue(bytes, this.#refsFor(ticket.run));
      try {
        if (failure !== undefined) {
          throw callErrorOf(failure as Failure, ticket.what, decode);
        }
        ticket.resolve(value(ticket));
      } catch (error) {
        ticket.reject(error);
      }
    };
    return {
      restore: (className: string, id: string, state: Uint8Array, keep: number | undefined) =>
        this.#instances.restore(className, id, state, keep),
      forget: (className: string, id: string) => this.#instances.forget(className, id),
      save: (className: string, id: string) => this.#instances.save(className, id),
      run: (number: number, className: string, id: string, method: string, args: Uint8Array, caller: string) =>
        this.#instances.run({ number, className, id, method, args, caller }),
      answered: (number: number, result: Uint8Array | undefined, failure: unknown) =>
        // A manager has nothing to say but that it is done.
        answered(number, ({ run }) => (result?.length === 0 ? undefined : decodeValue(result ?? new Uint8Array(), this.#refsFor(run))), failure),
      created: (number: number, isNew: boolean, failure: unknown) => answered(number, () => isNew, failure),
      found: (number: number, isThere: boolean, failure: unknown) => answered(number, () => isThere, failure),
      linkOpen: (node: string, life: number, store: string) => {
        this.settings.shelf?.putLife(node, life, store);
        this.node = node;
        this.#connectionIs({ state: "open" });
      },
      linkLost: () => this.#isClosed || this.#connectionIs({ state: "lost" }),
      linkRefused: (message: string) => this.#connectionIs({ state: "refused", message }),
      tokenWanted: () => this.#askToken(),
      linkEnded: (message: string) => this.#connectionIs({ state: "ended", message }),
      trouble: (message: string) => this.settings.onTrouble(message),
    };
  }
}

function deviceOf({ token, definitions, serves, node }: Settings, resumed: Resumed | undefined): Device {
  const classes = new Classes();
  for (const { name, version, devices, managers, reads } of definitions.values()) {
    try {
      classes.add(name, version, devices, managers, [...reads]);
    } catch (failure) {
      throw Array.isArray(failure) ? new TypeError(`the class of objects ${JSON.stringify(name)}: ${String(failure.at(-1))}`) : failure;
    }
  }
  return new Device(classes, node, newId(), typeof token === "string" ? token : undefined, serves, resumed, performance.now(), Date.now());
}

/** The life that an earlier page of the shelf has left. `bringBack` makes an object again, if it can. */
function resumedOf(shelf: Shelf | undefined, bringBack: (object: KeptObject) => boolean): Resumed | undefined {
  if (shelf?.node.life === undefined || shelf.node.store === undefined) {
    return undefined;
  }
  const { node, life, store, connections, named = `device-${node}#${life}` } = shelf.node;
  const resumed = new Resumed(named, store, connections);
  for (const object of shelf.objects) {
    const { className, id, version, epoch } = object;
    if (bringBack(object)) {
      resumed.add(className, id, epoch);
    } else {
      resumed.leave(className, id, version);
    }
  }
  return resumed;
}

function nameOf({ name }: Definition, id: string): string {
  return `${name}/${text(id)}`;
}

function isBusy(error: unknown): boolean {
  return error instanceof CallError && error.reason === "busy";
}

/** The module takes texts only, and trusts that they are. */
function text(id: unknown): string {
  if (typeof id !== "string") {
    throw new TypeError(`the id of an object is a text, not ${typeof id}`);
  }
  return id;
}

function instanceOf<T extends object>(type: ObjectClass<T>, initial: T): T {
  if (!(initial instanceof type)) {
    throw new TypeError(`an object of ${definitionFor(type).name} begins as an instance of its class`);
  }
  return initial;
}
