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
  readonly process: ChildProcess;
  /** Everything it printed so far, for messages about failures. */
  printed(): string;
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
  const data = await mkdtemp(join(tmpdir(), "iolite-"));
  const child = spawn(program, ["dev", "--port", String(port), "--data", data, "--app", app], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  const keep = (chunk: Buffer): void => void (printed += chunk.toString());
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);

  const server: IoliteServer = {
    origin: `http://127.0.0.1:${port}`,
    process: child,
    printed: () => printed,
    stop: async () => {
      await end(child);
      await rm(data, { recursive: true, force: true });
    },
  };
  try {
    await untilReady(server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function untilReady(server: IoliteServer): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    if (hasEnded(server.process)) {
      throw new Error(`iolite ended before it was ready:\n${server.printed()}`);
    }
    try {
      const response = await fetch(`${server.origin}/readyz`);
      if (response.ok) {
        return;
      }
    } catch {
      // Nobody listens yet.
    }
    await sleep(50);
  }
  throw new Error(`iolite was not ready within ${READY_WITHIN_MS} ms:\n${server.printed()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) {
    return;
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
  await ended;
  clearTimeout(timer);
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
