/** Several data centres as processes, and a server that tells the page of an example their addresses. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { killAll, nodesOf } from "../clusterProcesses.js";
import { freePort } from "../freePort.js";
import { repositoryPath } from "../repository.js";
import type { Server } from "../stage.js";
import { until } from "../until.js";

const run = promisify(execFile);
const PROGRAM = repositoryPath("target/release/iolite");
const NAMES = ["eu", "us", "asia"] as const;

export type CentreName = (typeof NAMES)[number];

export interface Centres extends Server {
  /** Kills all processes of a data centre. */
  kill(name: CentreName): Promise<void>;
}

/** `app` is a folder of `examples/`. Two of the three data centres have a transaction before others see it. */
export async function startCentres(app: string): Promise<Centres> {
  const folder = await mkdtemp(join(tmpdir(), "iolite-centres-"));
  const group = join(folder, "group");
  const kill = (name: CentreName): Promise<void> => killAll(() => nodesOf(PROGRAM, join(group, name)));
  const port = await freePort();
  let page: ChildProcess | undefined;
  let printed = "";
  async function stop(): Promise<void> {
    page?.kill();
    await Promise.all(NAMES.map(kill));
    await rm(folder, { recursive: true, force: true });
  }
  try {
    await run(PROGRAM, ["centres", "up", "--data", group, "--names", NAMES.join(","), "--port", "0"]);
    const nodes = await Promise.all(NAMES.map((name) => nodesOf(PROGRAM, join(group, name))));
    page = serve(app, group, port);
    page.stdout?.on("data", (chunk) => (printed += String(chunk)));
    page.stderr?.on("data", (chunk) => (printed += String(chunk)));
    await until("the page is served", async () => (await fetch(`http://127.0.0.1:${port}/`)).ok);
    const logs = nodes.flat().map(({ log }) => log);
    return { port, kill, stop, printed: () => [printed, ...logs.map((log) => readFileSync(log, "utf8"))].join("\n") };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As the example's README says. */
function serve(app: string, group: string, port: number): ChildProcess {
  const options = ["preview", "--config", "../page/vite.config.ts", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  const env = { ...process.env, IOLITE_CENTRES: group };
  return spawn(repositoryPath("node_modules/.bin/vite"), options, { cwd: repositoryPath(`examples/${app}`), env, stdio: ["ignore", "pipe", "pipe"] });
}
