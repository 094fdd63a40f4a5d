/**
 * The only place where this package calls the WebAssembly module. Each method has a row here that says what its arguments are.
 *
 * The module reads memory out of bounds for what is no string, and breaks when an app's code calls it while it works. So every argument is checked,
 * and copied where an app's code could hide in it.
 */

import { makeBlob } from "../blob/value.js";
import { BlobBuilder, BlobWalk, Core, LiveWriter, makeBlobsWith } from "../wasm/iolite_wasm.js";
import { indexArgument, isInstance, refusal, type RefusalCode, shown, textArgument } from "./checks.js";
import { boundValues, cellContent, cellValue, elementsOf, isArray, isBytes } from "./values.js";

/** Checks one argument, and gives what the module gets in its place. */
type Check = (given: unknown, code: RefusalCode) => unknown;

type Checks = readonly Check[];

type MethodsOf<T> = { [N in keyof T]: T[N] extends (...args: never) => unknown ? N : never }[keyof T] & string;

/** A row for each method, so that the compiler finds one that is missing. */
type Rows<T> = Readonly<Record<Exclude<MethodsOf<T>, "free">, Checks>>;

const text = (name: string): Check => (given, code) => textArgument(given, code, name);
const index = (name: string): Check => (given, code) => indexArgument(given, code, name);
const value = (name: string): Check => (given, code) => cellValue(given, code, name);
const key: Check = (given, code) => boundValues(given, code, "the key");
const orNothing = (check: Check): Check => (given, code) => (given === undefined ? undefined : check(given, code));
const number = (name: string): Check => (given, code) => expected(typeof given === "number", given, code, `${name} is a number`);
const flag = (name: string): Check => (given, code) => expected(typeof given === "boolean", given, code, `${name} is true or false`);
const bytes = (name: string): Check => (given, code) => expected(isBytes(given), given, code, `${name} is a Uint8Array`);
const list = (name: string, each: Check): Check => (given, code) => {
  expected(isArray(given), given, code, `${name} is an array`);
  return elementsOf(given as unknown[], code, name).map((own) => each(own, code));
};
const values = list("the values", (given, code) => cellContent(given, code));
const counts: Check = (given, code) => expected(isInstance(given, Uint16Array), given, code, "the numbers of addresses are a Uint16Array");
/** Keys and values in turn, from the storage. There are many: they are passed on as they are. */
const stored: Check = (given, code) => expected(isArray(given), given, code, "what is stored is an array");

function expected(fits: boolean, given: unknown, code: RefusalCode, what: string): unknown {
  if (!fits) {
    throw refusal(code, `${what}, not ${shown(given)}`);
  }
  return given;
}

const table = index("the table");
const column = index("the column");
const cell = [table, key, column] as const;
const monotonic = number("the monotonic time");
const wall = number("the time");
const now = [monotonic, wall] as const;
const mutation = number("the mutation");
const reaction = number("the reaction");
const log = index("the log");
const view = text("the view");
const ticket = text("the ticket");
const chunk = text("the chunk");
const named = [text("the name"), text("the arguments")] as const;
const tables = [text("the table"), list("the columns", text("a column")), list("the shapes", flag("a shape"))] as const;

const READS = {
  row: [table, key],
  rows: [table, list("the keys", key)],
  has: [table, key],
  version: [table, key],
  range: [table, ...["prefix", "from", "after", "to"].map((name) => orNothing((given, code) => boundValues(given, code, name))), orNothing(index("limit")), flag("reverse")],
  ask: [table, text("the question")],
  cell,
  contains: [...cell, value("the member")],
  memberAt: [...cell, index("the index")],
  entry: [...cell, value("the key of the map")],
  element: [...cell, index("the index")],
  elements: [...cell, index("the first index"), index("the last index")],
  textLength: cell,
  callTime: [],
  newId: [],
  random: [],
  instance: [],
} as const;

const WRITES = {
  insert: [table, key, list("the columns", column), values],
  delete: [table, key],
  base: [table, key, text("the version")],
  put: [...cell, value("the value")],
  add: [...cell, value("the amount"), number("the sign")],
  putTotal: [...cell, value("the total")],
  setMember: [...cell, value("the member"), flag("whether it is put in")],
  push: [...cell, value("the element")],
  setElement: [...cell, index("the index"), value("the element")],
  setEntry: [...cell, value("the key of the map"), value("the value")],
  splice: [...cell, index("the position"), index("the number of removed characters"), text("the text")],
} as const;

const CORE: Rows<Core> = {
  ...READS,
  ...WRITES,
  addTable: tables,
  begin: [],
  beginAgain: [],
  beginPeek: [view],
  blobsFrame: [bytes("the frame"), ...now],
  blobsLinked: now,
  blobsLost: now,
  blobsWait: [],
  call: [ticket, ...named, wall],
  callAgain: [ticket, ...named, orNothing(text("the log")), orNothing(value("the instance")), flag("whether it is stored"), wall],
  callStatus: [ticket],
  called: [mutation],
  cancel: [mutation],
  chunkLoaded: [number("the upload"), chunk, orNothing(bytes("the chunk")), ...now],
  chunkLooked: [number("the download"), chunk, orNothing(bytes("the chunk")), ...now],
  conflicts: [table],
  deadline: [],
  difference: [view, view, orNothing(text("the table"))],
  dismiss: [mutation],
  endPeek: [],
  fetchBlob: [table, key, column, text("the blob"), number("the first byte"), number("the end")],
  finish: [text("the end"), text("the message")],
  frame: [bytes("the frame"), ...now],
  goOffline: [],
  goOnline: [monotonic],
  identity: [],
  isFollowing: [],
  isStopped: [],
  joinLog: [text("the log"), value("the instance")],
  leaderChanged: now,
  leaveLog: [log],
  letReact: [flag("whether all run")],
  linkLost: now,
  linked: now,
  liveEdit: [...cell, index("the position"), index("the number of removed characters"), text("the text"), ticket],
  liveText: cell,
  logMembers: [log],
  logState: [log],
  mutate: [...named, ticket, wall],
  onDeadline: now,
  operateLog: [log, text("the operation"), text("the arguments"), ticket, wall],
  outbox: [stored, ...now],
  pending: [],
  persisted: [number("the batch"), ...now],
  poll: [],
  reactionsWait: [],
  rebaseLogEvery: [log, number("the pause")],
  refused: [],
  refusedCount: [],
  register: [view],
  renew: [reaction],
  resolve: [table, list("the choices", (given, code) => expected(isArray(given), given, code, "a choice is an array")), wall],
  setToken: [text("the token"), monotonic],
  stop: [reaction],
  stopFetching: [number("the download")],
  storageFull: now,
  tabGone: [number("the tab"), ...now],
  takeBack: [ticket],
  tokenFailed: [text("the message"), monotonic],
  toldByLeader: [bytes("the message"), ...now],
  toldByTab: [number("the tab"), bytes("the message"), ...now],
  transact: [wall],
  viewsNumber: [],
};

const BUILDER: Rows<BlobBuilder> = { push: [bytes("the content")], pop: [], finish: [] };

const WALK: Rows<BlobWalk> = { next: [], enter: [bytes("the node")] };

const WRITER: Rows<LiveWriter> = {
  addTable: tables,
  checkKey: [table, key],
  take: [],
  write: [text("the operation"), table, key, column, value("the value"), value("the value")],
};

/** The methods that a closure, or a live binding, calls. Their refusals have the code `transaction`. */
const OF_CLOSURES = new Set<string>([...Object.keys(READS), ...Object.keys(WRITES), "liveEdit", "liveText", "joinLog", "write", "checkKey"]);

const OPEN: Checks = [
  text("the schema"),
  text("the id"),
  text("the secret"),
  orNothing(text("token")),
  text("user"),
  counts,
  index("batch.ms"),
  flag("whether the storage lasts"),
  stored,
  orNothing(number("cacheBytes")),
  ...now,
];

/** Opens a core that leads. */
export function openCore(...given: Parameters<typeof Core.open>): Core {
  makeBlobsWith(makeBlob);
  return checkedModule(Core.open(...(taken(OPEN, given, "call") as typeof given)), CORE);
}

/** Opens a core that follows. */
export function followCore(...given: Parameters<typeof Core.follow>): Core {
  makeBlobsWith(makeBlob);
  const checks = [text("the schema"), orNothing(number("cacheBytes")), ...now];
  return checkedModule(Core.follow(...(taken(checks, given, "call") as typeof given)), CORE);
}

/** Opens what writes live bindings. */
export function openWriter(schema: string): LiveWriter {
  makeBlobsWith(makeBlob);
  return checkedModule(new LiveWriter(textArgument(schema, "call", "the schema")), WRITER);
}

/** Opens what cuts a stream into chunks. */
export function openBuilder(): BlobBuilder {
  makeBlobsWith(makeBlob);
  return checkedModule(new BlobBuilder(), BUILDER);
}

/** Opens a walk through the chunks of a part of a blob. */
export function openWalk(blob: string, from: number, to: number): BlobWalk {
  return checkedModule(new BlobWalk(blob, from, to), WALK);
}

/** The same object with checks before each of its methods. */
export function checkedModule<T extends object>(module: T, rows: Rows<T>): T {
  const own: Record<string, unknown> = {};
  for (const [name, checks] of Object.entries<Checks>(rows)) {
    const code = OF_CLOSURES.has(name) ? "transaction" : "call";
    own[name] = (...given: unknown[]): unknown => {
      const call = module[name as keyof T] as (...args: unknown[]) => unknown;
      return call.apply(module, taken(checks, given, code));
    };
  }
  return own as T;
}

function taken(checks: Checks, given: readonly unknown[], code: RefusalCode): unknown[] {
  return checks.map((check, place) => check(given[place], code));
}
