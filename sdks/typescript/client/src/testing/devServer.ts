/**
 * Runs Iolite on a free port with a data directory of its own, for tests against the real server: `iolite dev`, or with IOLITE_CLUSTER=SxN in the
 * environment a cluster of S shards with N replicas each, behind one gateway.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

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
  const cluster = process.env["IOLITE_CLUSTER"];
  const { stop, ...address } = await (cluster === undefined ? startDev(program, data) : startCluster(program, data, cluster));
  return {
    ...address,
    stop: async () => {
      await stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function startDev(program: string, data: string): Promise<DevServer> {
  const child = spawn(program, ["dev", "--port", "0", "--data", data, "--durability", "memory"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const address = await addressOf(child);
  return {
    ...address,
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** `shape` is like `2x3`. */
async function startCluster(program: string, data: string, shape: string): Promise<DevServer> {
  const iolite = promisify(execFile);
  const cluster = (command: string, ...options: string[]) => iolite(program, ["cluster", command, "--data", data, ...options]);
  const [shards = "", replicas = ""] = shape.split("x");
  const size = ["--shards", shards, "--replicas", replicas, "--port", "0", "--durability", "memory"];
  const { stdout } = await cluster("up", ...size);
  const [, url] = /connect to ([^\s,]+)/.exec(stdout) ?? [];
  const [, token] = /token is (\S+)/.exec(stdout) ?? [];
  if (url === undefined || token === undefined) {
    throw new Error(`iolite did not say the address of the cluster:\n${stdout}`);
  }
  return { url, token, stop: async () => void (await cluster("down")) };
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
