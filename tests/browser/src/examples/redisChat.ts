/** Runs the chat over Redis: on free ports, with data of its own, and cleans up after it. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../freePort.js";
import { repositoryPath } from "../repository.js";
import type { Server } from "../stage.js";
import { untilEqual } from "../until.js";

/** A primary, a replica, and the chat's server. */
export async function startChatOnRedis(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "chat-on-redis-"));
  const [primary, replica] = [await freePort(), await freePort()];
  const options = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const redis = (port: number, ...more: string[]): ChildProcess =>
    spawn("redis-server", ["--port", String(port), "--dir", folder, "--appenddirname", `log-${port}`, ...options, ...more], { stdio: "ignore" });
  const children = [redis(primary), redis(replica, "--replicaof", "127.0.0.1", String(primary))];
  const stop = async (): Promise<void> => {
    children.forEach((child) => child.kill());
    await rm(folder, { recursive: true, force: true });
  };
  await untilEqual("the replica", async () => isLinked(replica), true);
  const program = repositoryPath("examples/chat/redis/dist/server.js");
  const arguments_ = [`redis://127.0.0.1:${primary}`, "0", repositoryPath("examples/chat/redis/dist/page")];
  const server = spawn(process.execPath, [program, ...arguments_], { stdio: ["ignore", "pipe", "pipe"] });
  children.unshift(server);
  let printed = "";
  server.stdout.on("data", (chunk) => (printed += String(chunk)));
  server.stderr.on("data", (chunk) => (printed += String(chunk)));
  await untilEqual("the server", async () => printed.includes("\n"), true);
  return { port: (JSON.parse(printed.split("\n")[0] ?? "") as { port: number }).port, printed: () => printed, stop };
}

function isLinked(port: number): boolean {
  return execFileSync("redis-cli", ["-p", String(port), "info", "replication"], { encoding: "utf8" }).includes("master_link_status:up");
}
