/** Connects a process with the objects of a service. */

import { developmentServer } from "@iolite/client/development";
import { platform } from "#platform";

import { type Definition, definitionFor } from "../define/definition.js";
import { idOf, newId } from "../id.js";
import { Shelf } from "../keep/shelf.js";
import { addressOfObjects } from "./address.js";
import { Host } from "./host.js";
import { tokenAs } from "./tokens.js";
import type { Connection, ConnectOptions, ObjectHost, TokenFunction } from "./types.js";

const OPTIONS = ["url", "token", "as", "classes", "kind", "node", "keep", "callMs", "onConnection"] satisfies (keyof ConnectOptions)[];
const CALL_MS = 10_000;
/** How long the first connection may take. */
const START_MS = 10_000;

/**
 * Connects, and resolves when calls can be made. After that the host connects again by itself whenever the connection is lost.
 *
 * Rejects after ten seconds without a connection, or when the server refuses it, and says what is wrong.
 */
export async function connectObjects(options: ConnectOptions = {}): Promise<ObjectHost> {
  checkOptions(options);
  const definitions = definitionsOf(options.classes ?? []);
  const { url, token } = await serverOf(options);
  await platform.load();
  const shelf = await shelfOf(options.keep);
  let trouble: string | undefined;
  const { promise, settle, giveUp } = start(url, () => trouble);
  let host: Host | undefined;
  try {
    host = new Host(
      {
        url,
        token,
        definitions,
        serves: options.kind === "server",
        node: idOf(options.node) ?? shelf?.node.node ?? newId(),
        shelf,
        callMs: options.callMs ?? CALL_MS,
        onConnection: (connection) => {
          if (connection.state === "refused") {
            trouble = connection.message;
          }
          settle(connection);
          options.onConnection?.(connection);
        },
        onTrouble: (message) => void (trouble = message),
      },
      platform,
    );
    await promise;
    return host;
  } catch (error) {
    giveUp();
    host?.close();
    shelf?.close();
    throw error;
  }
}

/** Waits for the first connection. */
function start(url: string, trouble: () => string | undefined) {
  let settle: (connection: Connection) => void = () => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    timer = setTimeout(() => {
      const why = trouble();
      reject(new Error(`no server answers at ${url}${why === undefined ? "" : ` (${why})`}: look whether it runs, and whether it has objects`));
    }, START_MS);
    settle = (connection) => {
      if (connection.state === "open" || connection.state === "ended") {
        clearTimeout(timer);
      }
      if (connection.state === "open") {
        resolve();
      } else if (connection.state === "ended") {
        reject(new Error(`the server at ${url} refuses this host: ${connection.message}`));
      }
    };
  });
  return { promise, settle: (connection: Connection) => settle(connection), giveUp: () => clearTimeout(timer) };
}

async function serverOf(options: ConnectOptions): Promise<{ url: string; token: string | TokenFunction }> {
  const { url, token } = await foundServer(options);
  return { url, token: tokenAs(token, options.as, refuse) };
}

async function foundServer({ url, token }: ConnectOptions): Promise<{ url: string; token: string | TokenFunction }> {
  if (url !== undefined && token !== undefined) {
    return { url: addressOfObjects(url), token };
  }
  if (!platform.isPage) {
    throw new TypeError("connectObjects needs the url and the token of a server: `iolite dev` prints them");
  }
  const found = await developmentServer();
  return { url: addressOfObjects(url ?? found.url), token: token ?? found.token };
}

async function shelfOf(keep: string | undefined): Promise<Shelf | undefined> {
  if (keep === undefined) {
    return undefined;
  }
  if (platform.shelves === undefined) {
    throw new TypeError("connectObjects: keep needs IndexedDB and locks, which pages have with https and on localhost. Leave it out elsewhere");
  }
  try {
    return await Shelf.open(platform.shelves, keep);
  } catch (cause) {
    throw new Error(`this browser keeps no objects for the page, as in some private modes: ${String(cause)}`, { cause });
  }
}

function definitionsOf(classes: readonly unknown[]): Map<string, Definition> {
  const definitions = new Map<string, Definition>();
  for (const definition of classes.map(definitionFor)) {
    if (definitions.has(definition.name)) {
      throw new TypeError(`two classes are called ${JSON.stringify(definition.name)}: give one of them another name`);
    }
    definitions.set(definition.name, definition);
  }
  return definitions;
}

function refuse(problem: string): never {
  throw new TypeError(`connectObjects: ${problem}`);
}

function checkOptions(options: ConnectOptions): void {
  const unknown = Object.keys(options).find((option) => !(OPTIONS as readonly string[]).includes(option));
  if (unknown !== undefined) {
    refuse(`there is no option ${JSON.stringify(unknown)}, only ${OPTIONS.join(", ")}`);
  }
  const { token, as, classes = [], kind = "device", node, keep, callMs = CALL_MS } = options;
  if (token !== undefined && typeof token !== "string" && typeof token !== "function") {
    refuse("token is a text, or a function that gives one");
  }
  if (kind === "server" && as !== undefined) {
    refuse('a user is no part of the service: leave as or kind: "server" out');
  }
  if (!Array.isArray(classes)) {
    refuse("classes is an array of classes");
  }
  if (kind !== "device" && kind !== "server") {
    refuse(`kind is "device" or "server", not ${JSON.stringify(kind)}`);
  }
  if (kind === "server" && platform.isPage) {
    refuse('a page is a device of its user: leave kind: "server" out');
  }
  if (node !== undefined && idOf(node) === undefined) {
    refuse(`node is a UUID, as crypto.randomUUID() gives it, not ${JSON.stringify(node)}`);
  }
  if (keep !== undefined && (typeof keep !== "string" || keep === "")) {
    refuse("keep is a name");
  }
  if (keep !== undefined && node !== undefined) {
    refuse("what is kept has a node of its own: leave node out");
  }
  if (!(callMs > 0) || callMs > 2 ** 31 - 1) {
    refuse(`callMs is a number of milliseconds above 0, not ${String(callMs)}`);
  }
}
