import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { freePort } from "../freePort.js";
import { repositoryPath } from "../repository.js";
import { onStageOf, type Server } from "../stage.js";
import { untilEqual } from "../until.js";
import { Visitor } from "../visitor.js";
import { lines, talkWithACut } from "./chatters.js";

/** It needs no Iolite. */
const skip = process.env["IOLITE_CLUSTER"] !== undefined;

/** What the chat on Iolite is compared with works, too. */
test("the same page over Redis: two people talk, one of them without a network for a while", { skip }, () =>
  onStageOf({ start, Person: Visitor }, async ({ person }) => {
    const ada = await person("Ada");
    const ben = await person("Ben");
    await talkWithACut(ada, ben);
    const said = await lines(ada);
    assert.deepEqual([...said].sort(), ["Are you still there?", "I am.", "Is anybody here?", "Now I am on the train."]);
    await untilEqual("Ben's lines", async () => JSON.stringify(await lines(ben)), JSON.stringify(said));
  }));

/** A primary, a replica, and the chat's server. */
async function start(): Promise<Server> {
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
