/** Runs `iolite dev` on a free port with a data directory of its own, and cleans up after it. */

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { repositoryPath } from "./repository.js";

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 5_000;

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
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const data = await mkdtemp(join(tmpdir(), "iolite-"));
  const running = new RunningProgram(program, ["dev", "--port", String(port), "--data", data, "--app", app], origin);
  async function stop(): Promise<void> {
    await running.end("SIGTERM");
    await rm(data, { recursive: true, force: true });
  }
  try {
    await running.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    origin,
    port,
    printed: () => running.printed,
    metric: (name) => readMetric(origin, name),
    kill: () => running.end("SIGKILL"),
    restart: () => running.start(),
    stop,
  };
}

class RunningProgram {
  #child: ChildProcess | undefined;
  printed = "";

  constructor(
    readonly program: string,
    readonly args: readonly string[],
    readonly origin: string,
  ) {}

  async start(): Promise<void> {
    const child = spawn(this.program, this.args, { stdio: ["ignore", "pipe", "pipe"] });
    const keep = (chunk: Buffer): void => void (this.printed += chunk.toString());
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    this.#child = child;
    await untilReady(this.origin, child, () => this.printed);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === undefined || hasEnded(child)) {
      return;
    }
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}

async function readMetric(origin: string, name: string): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  if (line === undefined) {
    throw new Error(`/metrics has no ${name}:\n${text}`);
  }
  return Number(line.slice(name.length + 1));
}

async function untilReady(origin: string, child: ChildProcess, printed: () => string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    if (hasEnded(child)) {
      throw new Error(`iolite ended before it was ready:\n${printed()}`);
    }
    try {
      const response = await fetch(`${origin}/readyz`);
      if (response.ok) {
        return;
      }
    } catch {
      // Nobody listens yet.
    }
    await sleep(50);
  }
  throw new Error(`iolite was not ready within ${READY_WITHIN_MS} ms:\n${printed()}`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
