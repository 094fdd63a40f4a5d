/** A cluster of processes, by `iolite cluster`. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import type { Processes } from "./ioliteServer.js";

const run = promisify(execFile);

/** What `iolite cluster status --json` says of a node. */
export interface Node {
  readonly role: "store" | "gateway";
  readonly pid: number | null;
  /** Like `127.0.0.1:7777`. */
  readonly address: string;
  readonly log: string;
}

/** All nodes of the cluster in a folder. */
export async function nodesOf(program: string, folder: string): Promise<readonly Node[]> {
  // It fails when a node does not run, and tells all the same.
  const { stdout } = await run(program, ["cluster", "status", "--data", folder, "--json"]).catch((error: { stdout: string }) => error);
  return (JSON.parse(stdout) as { nodes: Node[] }).nodes;
}

/** Resolves when none of the nodes runs any more. */
export async function killAll(nodes: () => Promise<readonly Node[]>): Promise<void> {
  const pids = (await nodes()).flatMap((node) => node.pid ?? []);
  pids.forEach((pid) => process.kill(pid, "SIGKILL"));
  while ((await nodes()).some((node) => node.pid !== null)) {
    await sleep(10);
  }
}

export class ClusterProcesses implements Processes {
  readonly #folder: string;
  readonly #shape: readonly string[];
  port = 0;
  printed = "";

  /** `cluster` is like `2x3`: shards, and replicas of each. Nothing is started yet. */
  constructor(
    readonly program: string,
    data: string,
    app: string,
    cluster: string,
  ) {
    const [shards = "", replicas = ""] = cluster.split("x");
    this.#folder = join(data, "cluster");
    this.#shape = ["--shards", shards, "--replicas", replicas, "--port", "0", "--app", app];
  }

  async start(): Promise<void> {
    try {
      await this.#cluster("up", ...this.#shape);
    } finally {
      await this.#readLogs();
    }
    const gateway = (await this.#nodes()).find((node) => node.role === "gateway");
    this.port = Number(gateway?.address.split(":").at(-1));
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (signal === "SIGTERM") {
      await this.#cluster("down");
    } else {
      await killAll(() => this.#nodes());
    }
    await this.#readLogs();
  }

  #nodes(): Promise<readonly Node[]> {
    return nodesOf(this.program, this.#folder);
  }

  async #readLogs(): Promise<void> {
    const nodes = await this.#nodes().catch(() => []);
    const logs = await Promise.all(nodes.map((node) => readFile(node.log, "utf8").catch(() => "")));
    this.printed = logs.join("\n");
  }

  #cluster(command: string, ...options: string[]): Promise<{ stdout: string }> {
    return run(this.program, ["cluster", command, "--data", this.#folder, ...options]);
  }
}
