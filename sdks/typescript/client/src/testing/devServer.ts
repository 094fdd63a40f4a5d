/**
 * Runs Iolite on a free port with a data directory of its own, for tests against the real server: `iolite dev`, or with IOLITE_CLUSTER=SxN in the
 * environment a cluster of S shards with N replicas each, behind one gateway.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { type Cluster, startCluster } from "./cluster.js";

export interface DevServer {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** Of these the one that was built last is run. */
const PROGRAMS = ["release", "debug"].map((profile) =>
  fileURLToPath(new URL(`../../../../../target/${profile}/iolite`, import.meta.url)),
);

/** `iolite dev --tokens`, which lets users in by these settings. `files`: the keys beside the settings, by their names. */
export function startTokenServer(settings: string, files: Readonly<Record<string, string>>): Promise<DevServer> {
  return withFolder(async (program, data) => {
    const written = Object.entries({ ...files, "tokens.toml": settings }).map(([name, text]) => writeFile(join(data, name), text, { mode: 0o600 }));
    await Promise.all(written);
    return startDev(program, join(data, "data"), ["--tokens", join(data, "tokens.toml")]);
  });
}

export function startDevServer(): Promise<DevServer> {
  const cluster = process.env["IOLITE_CLUSTER"];
  return withFolder((program, data) => (cluster === undefined ? startDev(program, data) : startOneGateway(program, data, cluster)));
}

/** A cluster of one replica behind two gateways. */
export function startTwoGateways(): Promise<Cluster> {
  return withFolder((program, data) => startCluster(program, data, { shards: "1", replicas: "1", gateways: "2" }));
}

/** Its folder goes with it. */
async function withFolder<S extends { stop(): Promise<void> }>(start: (program: string, data: string) => Promise<S>): Promise<S> {
  const builtAt = (path: string): number => statSync(path).mtimeMs;
  const [program] = PROGRAMS.filter((path) => existsSync(path)).sort((a, b) => builtAt(b) - builtAt(a));
  if (program === undefined) {
    throw new Error(`neither ${PROGRAMS.join(" nor ")} exists: run \`make build\``);
  }
  const data = await mkdtemp(join(tmpdir(), "iolite-client-"));
  const started = await start(program, data);
  return {
    ...started,
    stop: async () => {
      await started.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** `shape` is like `2x3`: shards, and replicas of each. */
async function startOneGateway(program: string, data: string, shape: string): Promise<DevServer> {
  const [shards = "", replicas = ""] = shape.split("x");
  const { urls, token, stop } = await startCluster(program, data, { shards, replicas, gateways: "1" });
  return { url: urls[0] ?? "", token, stop };
}

async function startDev(program: string, data: string, more: readonly string[] = []): Promise<DevServer> {
  const child = spawn(program, ["dev", "--port", "0", "--data", data, "--durability", "memory", ...more], {
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

async function addressOf(child: ChildProcess): Promise<{ url: string; token: string }> {
  if (child.stdout === null) {
    throw new Error("its output was asked for");
  }
  let url: string | undefined;
  for await (const line of createInterface(child.stdout)) {
    url = /connect to (\S+) with/.exec(line)?.[1] ?? url;
    // With the address, or where users have tokens of their own the operator's in the next line.
    const token = / token (?:is )?(\S+)$/.exec(line)?.[1];
    if (url !== undefined && token !== undefined) {
      return { url, token };
    }
  }
  throw new Error("iolite ended before it said its address");
}
