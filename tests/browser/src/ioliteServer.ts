/**
 * Runs Iolite on a free port with data of its own, and cleans up after it: `iolite dev`, or with IOLITE_CLUSTER=SxN in the environment a
 * cluster of S shards with N replicas each, behind one gateway.
 */

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ClusterProcesses } from "./clusterProcesses.js";
import { DevProcess } from "./devProcess.js";
import { repositoryPath } from "./repository.js";

export interface IoliteServer {
  /** Without a slash at the end. */
  readonly origin: string;
  readonly port: number;
  /** Everything it printed so far, for messages about failures. */
  printed(): string;
  /** The number that `/metrics` gives for a gauge or counter. */
  metric(name: string): Promise<number>;
  /** Kills it with SIGKILL, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data directory. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

export interface IoliteOptions {
  /** The folder of built pages, from the repository's root. */
  readonly app: string;
  /** A file of classes, from the repository's root: `iolite dev` runs them in Node. No cluster does. */
  readonly objects?: string;
  /** A file of rights, from the repository's root: `iolite dev` has them in effect. No cluster does. */
  readonly rights?: string;
}

/** What runs, as one thing that can be killed and started again on the same port and data. */
export interface Processes {
  readonly port: number;
  readonly printed: string;
  /** Resolves when sessions are served. */
  start(): Promise<void>;
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Resolves when `/readyz` answers. */
export async function startIolite(options: IoliteOptions): Promise<IoliteServer> {
  const program = repositoryPath("target/release/iolite");
  const app = repositoryPath(options.app);
  for (const needed of [program, app]) {
    if (!existsSync(needed)) {
      throw new Error(`${needed} does not exist: run \`make build\``);
    }
  }
  const data = await mkdtemp(join(tmpdir(), "iolite-"));
  const cluster = process.env["IOLITE_CLUSTER"];
  const objects = options.objects === undefined ? [] : ["--objects", repositoryPath(options.objects)];
  const rights = options.rights === undefined ? [] : ["--rights", repositoryPath(options.rights)];
  const processes: Processes =
    cluster === undefined ? await DevProcess.of(program, data, app, [...objects, ...rights]) : new ClusterProcesses(program, data, app, cluster);
  async function stop(): Promise<void> {
    await processes.end("SIGTERM");
    await rm(data, { recursive: true, force: true });
  }
  try {
    await processes.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const origin = `http://127.0.0.1:${processes.port}`;
  return {
    origin,
    port: processes.port,
    printed: () => processes.printed,
    metric: (name) => readMetric(origin, name),
    kill: () => processes.end("SIGKILL"),
    restart: () => processes.start(),
    stop,
  };
}

async function readMetric(origin: string, name: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  if (line === undefined) {
    throw new Error(`/metrics has no ${name}:\n${text}`);
  }
  return Number(line.slice(name.length + 1));
}
