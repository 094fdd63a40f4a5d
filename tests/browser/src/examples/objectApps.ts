/** The apps of objects: each has its class in `objects.js`, which Node and the page import. A test may change one line of it, for both. */

import assert from "node:assert/strict";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { build } from "vite";

import { type IoliteServer, startIolite } from "../ioliteServer.js";
import { repositoryPath } from "../repository.js";
import { until } from "../until.js";

export interface ObjectApp {
  /** The folder of the built page, from the repository's root. */
  readonly app: string;
  /** The file of the class, from the repository's root. */
  readonly objects: string;
}

/** An app as it is. */
export function appOf(name: string): ObjectApp {
  return { app: `examples/${name}/dist`, objects: `examples/${name}/objects.js` };
}

/** Builds an app with another line in the file of its class. `variant` names the folder. */
export async function withOtherLine(name: string, variant: string, [line, other]: readonly [RegExp, string]): Promise<ObjectApp> {
  const [root, folder] = [repositoryPath(`examples/${name}`), `target/examples/${name}-${variant}`];
  const changedFile = join(root, "objects.js");
  const lines = (await readFile(changedFile, "utf8")).split("\n");
  assert.equal(lines.filter((one) => line.test(one)).length, 1, `one line of ${changedFile} is ${String(line)}`);
  const changed = lines.map((one) => (line.test(one) ? other : one)).join("\n");
  const target = repositoryPath(folder);
  await rm(target, { recursive: true, force: true });
  // Files beside the class that it imports.
  await cp(root, target, { recursive: true, filter: (path) => path === root || path.endsWith(".js") });
  await writeFile(join(target, "objects.js"), changed);
  const change = { name: "another-line", enforce: "pre" as const, load: (file: string) => (file === changedFile ? changed : undefined) };
  await build({ root, logLevel: "warn", plugins: [change], build: { outDir: join(target, "dist"), emptyOutDir: true } });
  return { app: `${folder}/dist`, objects: `${folder}/objects.js` };
}

/** Starts a server with the app, and resolves when Node has come to it and serves the class. */
export async function startWithNode(app: ObjectApp, className: string): Promise<IoliteServer> {
  const server = await startIolite(app);
  await until("Node serves the class", async () => server.printed().includes(`serves ${className}`)).catch(async (error: unknown) => {
    await server.stop();
    throw new Error(`no Node serves ${className}:\n${server.printed()}`, { cause: error });
  });
  return server;
}
