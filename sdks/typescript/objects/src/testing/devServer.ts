/** Runs `iolite dev` for tests, behind a way that can be cut. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface DevServer {
  readonly url: string;
  readonly token: string;
  /** Another address of the server, whose connections can be cut. */
  cuttable(): Promise<Cuttable>;
  stop(): Promise<void>;
}

export interface Cuttable {
  readonly url: string;
  /** Cuts all connections. New ones can be made at once. */
  cut(): void;
}

/** The one of these that was built last is run. */
const PROGRAMS = ["release", "debug"].map((profile) => fileURLToPath(new URL(`../../../../../target/${profile}/iolite`, import.meta.url)));

export async function startDevServer(): Promise<DevServer> {
  const [program] = PROGRAMS.filter(existsSync).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (program === undefined) {
    throw new Error(`neither ${PROGRAMS.join(" nor ")} exists: run \`make build\``);
  }
  const data = mkdtempSync(join(tmpdir(), "iolite-objects-"));
  const child = spawn(program, ["dev", "--port", "0", "--data", data, "--durability", "memory"], { stdio: ["ignore", "pipe", "inherit"] });
  const closers: (() => void)[] = [];
  const stop = async (): Promise<void> => {
    closers.forEach((close) => close());
    if (child.exitCode === null && child.kill()) {
      await once(child, "exit");
    }
    rmSync(data, { recursive: true, force: true });
  };
  for await (const line of createInterface(child.stdout)) {
    const [, url, token] = /connect to (\S+) with the token (\S+)/.exec(line) ?? [];
    if (url !== undefined && token !== undefined) {
      return { url, token, stop, cuttable: () => cuttable(new URL(url), closers) };
    }
  }
  await stop();
  throw new Error("iolite ended before it said its address");
}

async function cuttable(server: URL, closers: (() => void)[]): Promise<Cuttable> {
  const sockets = new Set<Socket>();
  const way = createServer((near) => {
    const far = connect(Number(server.port), server.hostname);
    for (const [one, other] of [[near, far], [far, near]] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
    }
  });
  await once(way.listen(0, "127.0.0.1"), "listening");
  const cut = (): void => {
    sockets.forEach((socket) => socket.destroy());
    sockets.clear();
  };
  closers.push(() => {
    way.close();
    cut();
  });
  const url = new URL(server);
  url.port = String((way.address() as AddressInfo).port);
  return { url: url.href, cut };
}
