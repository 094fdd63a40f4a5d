/** Starts `iolite dev` for a test, on a free port, with data of its own in memory. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface TestServer {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** `program` is the path of `iolite`, and `more` are further options of `iolite dev`. */
export async function startServer(program: string, more: readonly string[] = []): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), "tasks-"));
  const child = spawn(program, ["dev", "--port", "0", "--data", data, "--durability", "memory", ...more]);
  async function stop(): Promise<void> {
    if (child.exitCode === null && child.kill()) {
      await once(child, "exit");
    }
    await rm(data, { recursive: true, force: true });
  }
  return { ...(await addressOf(child)), stop };
}

/** Reads the lines that `iolite dev` prints first: `connect to ws://... with the token ...`, or with `--tokens` the operator's token in a line of its own. */
async function addressOf(child: ChildProcess): Promise<{ url: string; token: string }> {
  let url: string | undefined;
  for await (const line of createInterface(child.stdout ?? process.stdin)) {
    url = /connect to (\S+) with/.exec(line)?.[1] ?? url;
    const token = / token (?:is )?(\S+)$/.exec(line)?.[1];
    if (url !== undefined && token !== undefined) {
      return { url, token };
    }
  }
  throw new Error("iolite ended before it said its address");
}
