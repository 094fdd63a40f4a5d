/** `iolite dev` as a process. */

import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

import { freePort } from "./freePort.js";
import type { Processes } from "./ioliteServer.js";

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 5_000;

export class DevProcess implements Processes {
  #child: ChildProcess | undefined;
  printed = "";

  private constructor(
    readonly program: string,
    readonly args: readonly string[],
    readonly port: number,
  ) {}

  /** Not started yet. */
  static async of(program: string, data: string, app: string, more: readonly string[] = []): Promise<DevProcess> {
    const port = await freePort();
    return new DevProcess(program, ["dev", "--port", String(port), "--data", data, "--app", app, ...more], port);
  }

  async start(): Promise<void> {
    const child = spawn(this.program, this.args, { stdio: ["ignore", "pipe", "pipe"] });
    const keep = (chunk: Buffer): void => void (this.printed += chunk.toString());
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    this.#child = child;
    await untilReady(`http://127.0.0.1:${this.port}`, child, () => this.printed);
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
