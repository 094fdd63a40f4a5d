/** A cluster of processes, by `iolite cluster`, whose gateways can be killed. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface Cluster {
  /** Of its gateways. */
  readonly urls: readonly string[];
  readonly token: string;
  /** Ends a gateway in the middle of whatever it does. */
  kill(gateway: number): Promise<void>;
  /** Starts what does not run. */
  startAll(): Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterShape {
  readonly shards: string;
  readonly replicas: string;
  readonly gateways: string;
}

/** What `iolite cluster status --json` says of a node. */
interface Node {
  readonly role: "store" | "gateway";
  readonly pid: number | null;
}

const run = promisify(execFile);

export async function startCluster(program: string, data: string, { shards, replicas, gateways }: ClusterShape): Promise<Cluster> {
  const cluster = (command: string, ...options: string[]) => run(program, ["cluster", command, "--data", data, ...options]);
  const size = ["--shards", shards, "--replicas", replicas, "--gateways", gateways, "--port", "0", "--durability", "memory"];
  const up = () => cluster("up", ...size);
  const pidOf = async (gateway: number): Promise<number | null | undefined> => {
    // It fails when a node does not run, and tells all the same.
    const { stdout } = await cluster("status", "--json").catch((error: { stdout: string }) => error);
    return (JSON.parse(stdout) as { nodes: Node[] }).nodes.filter(({ role }) => role === "gateway")[gateway]?.pid;
  };
  const { stdout } = await up();
  const urls = [...stdout.matchAll(/connect to ([^\s,]+)/g)].map(([, url = ""]) => url);
  const [, token] = /token is (\S+)/.exec(stdout) ?? [];
  if (urls.length !== Number(gateways) || token === undefined) {
    throw new Error(`iolite did not say the addresses of the cluster:\n${stdout}`);
  }
  return {
    urls,
    token,
    kill: async (gateway) => {
      const pid = await pidOf(gateway);
      if (typeof pid !== "number") {
        throw new Error(`gateway ${gateway} does not run`);
      }
      process.kill(pid, "SIGKILL");
      while ((await pidOf(gateway)) !== null);
    },
    startAll: async () => void (await up()),
    stop: async () => void (await cluster("down")),
  };
}
