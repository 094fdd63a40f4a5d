#!/usr/bin/env node
/** `create-iolite FOLDER`: makes an app that runs, in a new or empty folder. */

import { stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

import { create } from "./create.js";
import { tooOld } from "./node.js";

const USAGE = "usage: create-iolite FOLDER [--packages DIR]\n\nDIR is the folder that `make dist` has filled; not needed where this package came from it.";

async function main(): Promise<void> {
  const old = tooOld(process.versions.node);
  if (old !== undefined) {
    throw new Error(old);
  }
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { packages: { type: "string" }, help: { type: "boolean" } } });
  if (values.help === true) {
    console.log(USAGE);
    return;
  }
  const [folder = await ask(), ...more] = positionals;
  if (folder === "" || more.length > 0) {
    throw new Error(USAGE);
  }
  await create({ folder, packages: values.packages });
  console.log(`\nYour app is in ${folder}. Now run\n\n  cd ${folder}\n  npm install\n  npm run dev\n\nand open the address that it prints in two windows.`);
}

/** Asks for the folder, where a person sits at a terminal. */
async function ask(): Promise<string> {
  if (!stdin.isTTY) {
    return "";
  }
  const lines = createInterface({ input: stdin, output: stdout });
  const answer = await lines.question("Folder of your app (my-app): ");
  lines.close();
  return answer.trim() || "my-app";
}

main().catch((error: unknown) => {
  console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
});
