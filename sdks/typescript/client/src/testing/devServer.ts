/** Runs `iolite dev` on a free port with a data directory of its own, for tests against the real server. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface DevServer {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** Of these the one that was built last is run. */
const PROGRAMS = ["release", "debug"].map((profile) =>
  fileURLToPath(new URL(`../../../../../target/${profile}/iolite`, import.meta.url)),
);

export async function startDevServer(): Promise<DevServer> {
  const builtAt = (path: string): number => statSync(path).mtimeMs;
  const [program] = PROGRAMS.filter((path) => existsSync(path)).sort((a, b) => builtAt(b) - builtAt(a));
  if (program === undefined) {
    throw new Error(`neither ${PROGRAMS.join(" nor ")} exists: run \`make build\``);
  }
  const data = await mkdtemp(join(tmpdir(), "iolite-client-"));
  const child = spawn(program, ["dev", "--port", "0", "--data", data, "--durability", "memory"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { url, token } = await addressOf(child);
  return {
    url,
    token,
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function addressOf(child: ChildProcess): Promise<{ url: string; token: string }> {
  if (child.stdout === null) {
    throw new Error("its output was asked for");
  }
  for await (const line of createInterface(child.stdout)) {
    const [, url, token] = /connect to (\S+) with the token (\S+)/.exec(line) ?? [];
    if (url !== undefined && token !== undefined) {
      return { url, token };
    }
  }
  throw new Error("iolite ended before it said its address");
}
