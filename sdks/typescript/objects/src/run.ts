/** Runs the classes that a file exports, as part of the service: what `iolite dev --objects FILE.js` starts in Node, and the program `iolite-objects`. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { type Definition, definitionOf, type ObjectClass } from "./define/definition.js";
import { connectObjects } from "./host/connectObjects.js";
import { HOST_CLOSED } from "./host/host.js";
import type { Connection } from "./host/types.js";

/**
 * Serves the classes of a file until SIGTERM or SIGINT, and connects again whenever it has to. IOLITE_URL and IOLITE_TOKEN in the environment say where the
 * server is, and IOLITE_NODE, which may be left out, is the name of the node. Resolves when calls can come. What is wrong is told on standard error, and ends the process.
 */
export async function runObjects(file: string | undefined): Promise<void> {
  try {
    await serve(file);
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

async function serve(file: string | undefined): Promise<void> {
  const { IOLITE_URL: url, IOLITE_TOKEN: token, IOLITE_NODE: node } = process.env;
  if (file === undefined || url === undefined || token === undefined) {
    throw new Error("usage: iolite-objects FILE.js, with the address of a server in IOLITE_URL and its token in IOLITE_TOKEN");
  }
  const module = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  const classes = [...new Set(Object.values(module))].filter((value) => definitionOf(value) !== undefined) as ObjectClass<object>[];
  if (classes.length === 0) {
    throw new Error(`${file} exports no class of objects: export one with @sapphire above it, or one that defineObject was called with`);
  }
  const host = await connectObjects({ url, token, classes, kind: "server", ...(node === undefined ? {} : { node }), onConnection: tell });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      host.close();
      process.exit();
    });
  }
  classes.forEach((type) => list(definitionOf(type)));
}

function list(definition: Definition | undefined): void {
  if (definition !== undefined) {
    console.log(`serves ${definition.name}, version ${definition.version}: ${[...definition.methods.keys()].join(", ")}`);
  }
}

function tell(connection: Connection): void {
  if (connection.state === "ended" && connection.message !== HOST_CLOSED) {
    fail(connection.message);
  } else if (connection.state === "lost") {
    console.error("the connection is lost; trying again");
  }
}

/** The process would stay without anything to do. */
function fail(message: string): void {
  console.error(`error: ${message}`);
  process.exit(1);
}
