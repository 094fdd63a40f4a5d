#!/usr/bin/env node
/** `npx iolite`: starts the program, which has the command line, the streams and the signals, and ends as it ends. */

import { spawn } from "node:child_process";
import { createRequire } from "node:module";

import { programOf } from "./program.js";

const require = createRequire(import.meta.url);

function start(program: string): void {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  // A terminal's Ctrl-C reaches the program too. It takes the first signal, and is not hurt by a second one.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, forward);
  }
  child.on("error", ({ message }) => fail(`cannot start ${program}: ${message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
    } else {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
}

function fail(message: string): void {
  console.error(`error: ${message}`);
  process.exitCode = 1;
}

try {
  const { platform, arch } = process;
  start(programOf({ platform, arch, resolve: (file) => require.resolve(file) }));
} catch (error) {
  fail((error as Error).message);
}
