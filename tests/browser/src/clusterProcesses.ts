/** A cluster of processes, by `iolite cluster`. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import type { Processes } from "./ioliteServer.js";

const run = promisify(execFile);

/** What `iolite cluster status --json` says of a node. */
interface Node {
  readonly role: "store" | "gateway";
  readonly pid: number | null;
  /** Like `127.0.0.1:7777`. */
  readonly address: string;
  readonly log: string;
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
      const pids = (await this.#nodes()).flatMap((node) => node.pid ?? []);
      pids.forEach((pid) => process.kill(pid, "SIGKILL"));
      while ((await this.#nodes()).some((node) => node.pid !== null)) {
        await sleep(10);
      }
    }
    await this.#readLogs();
  }

  async #nodes(): Promise<readonly Node[]> {
    // It fails when a node does not run, and tells all the same.
    const { stdout } = await this.#cluster("status", "--json").catch((error: { stdout: string }) => error);
    return (JSON.parse(stdout) as { nodes: Node[] }).nodes;
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
