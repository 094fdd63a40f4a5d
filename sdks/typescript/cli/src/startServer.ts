/** Starts `iolite dev` for a program of Node: for the server of a bundler, and for tests. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { programOf } from "./program.js";

export interface StartOptions {
  /** The data directory. Without it the data is in a temporary folder, in memory first, and goes when the server is stopped: for tests. */
  readonly data?: string;
  /** A free one if not given. */
  readonly port?: number;
  /** The path of the program, if it is not the package's own. */
  readonly program?: string;
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:7777`. */
  readonly origin: string;
  /** The address of sessions; `createClient` takes it, and the token. */
  readonly url: string;
  readonly token: string;
  /** Resolves when the program has ended. */
  stop(): Promise<void>;
}

/**
 * Resolves when clients can connect. The server ends with this process, and does not keep it alive.
 * Rejects with what the program said if it does not start.
 */
export async function startServer({ data, port = 0, program = packaged() }: StartOptions = {}): Promise<RunningServer> {
  const temporary = data === undefined ? mkdtempSync(join(tmpdir(), "iolite-")) : undefined;
  const folder = data ?? join(temporary ?? "", "data");
  const child = spawn(program, ["dev", "--port", String(port), "--data", folder, ...(temporary === undefined ? [] : ["--durability", "memory"])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = (): void => void child.kill();
  const remove = (): void => void (temporary !== undefined && rmSync(temporary, { recursive: true, force: true }));
  process.once("exit", kill);
  child.once("exit", () => {
    process.off("exit", kill);
    remove();
  });
  const { url, token } = await addressOf(child);
  release(child);
  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null && child.kill()) {
      child.ref();
      await once(child, "exit");
    }
  }
  return { origin: new URL(url.replace("ws", "http")).origin, url, token, stop };
}

function packaged(): string {
  const require = createRequire(import.meta.url);
  const { platform, arch } = process;
  return programOf({ platform, arch, resolve: (file) => require.resolve(file) });
}

/** Reads the line that `iolite dev` prints when it serves. */
async function addressOf(child: ChildProcess): Promise<{ url: string; token: string }> {
  let said = "";
  return new Promise((resolve, reject) => {
    function hear(chunk: Buffer): void {
      said += chunk.toString();
      const [, url, token] = /connect to (\S+) with the token (\S+)\n/.exec(said) ?? [];
      if (url !== undefined && token !== undefined) {
        resolve({ url, token });
      }
    }
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", ({ message }) => reject(new Error(`iolite dev cannot be started: ${message}`)));
    child.once("close", () => reject(new Error(`iolite dev did not start: ${said.trim()}`)));
  });
}

/** Lets this process end while the server runs. What the server says from now on is its warnings, so they go on to this process's own. */
function release(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.removeAllListeners("data");
    stream?.on("data", (chunk: Buffer) => process.stderr.write(chunk));
    (stream as { unref?(): void } | null)?.unref?.();
  }
}
