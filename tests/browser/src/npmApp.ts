/** An app in a folder of its own, made of the packages that `make dist` makes, by somebody who has no Rust. */

import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

import { repositoryPath } from "./repository.js";
import type { Server } from "./stage.js";
import { until } from "./until.js";

const run = promisify(execFile);

/** Fills a folder with the packages, of the program that the other tests run. */
export async function packInto(folder: string): Promise<void> {
  await run(repositoryPath("scripts/pack"), ["--npm", repositoryPath("target/release/iolite"), folder]);
}

/** The environment of somebody who has packages in `folder`/dist, and no Rust. */
export function withoutRust(folder: string): NodeJS.ProcessEnv {
  const path = (process.env["PATH"] ?? "").split(":").filter((place) => !place.endsWith("/.cargo/bin"));
  return { ...process.env, PATH: path.join(":"), IOLITE: folder, npm_config_prefer_offline: "true", npm_config_audit: "false" };
}

export interface Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs commands in a shell, and returns the folder in which one is afterwards. */
export async function type(script: string, { folder, env }: Place): Promise<string> {
  const { stdout } = await run("bash", ["-c", `set -e\n${script}\npwd`], { cwd: folder, env });
  return stdout.trim().split("\n").at(-1) ?? folder;
}

/** Runs a command that serves on `port`, until its `path` answers. `stop` is Ctrl-C. */
export async function serveWith(command: string, { folder, env }: Place, { port, path }: { port: number; path: string }): Promise<Server> {
  // A process group, as a terminal makes it: its Ctrl-C reaches npm and all that npm started.
  const child = spawn("bash", ["-c", `exec ${command}`], { cwd: folder, env, detached: true });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => (printed += String(chunk)));
  }
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      // The streams end when the last process of the group has.
      const ended = new Promise((resolve) => child.once("close", resolve));
      process.kill(-(child.pid ?? 0), "SIGINT");
      await ended;
    }
  };
  await until("the server is ready", async () => (await fetch(`http://127.0.0.1:${port}${path}`)).ok).catch(async (error: unknown) => {
    await stop();
    throw new Error(`it printed:\n${printed}`, { cause: error });
  });
  return { port, printed: () => printed, stop };
}
