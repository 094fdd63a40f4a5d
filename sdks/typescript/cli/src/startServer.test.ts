/** Servers of the program that `make server` has built. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startServer } from "./startServer.js";

const program = fileURLToPath(new URL("../../../../target/release/iolite", import.meta.url));

test("a server is started on a free port, says where it is, and is gone when it was stopped", async () => {
  const server = await startServer({ program });
  assert.equal(new URL(server.url).pathname, "/sync");
  assert.equal((await fetch(`${server.origin}/healthz`)).status, 200);
  await server.stop();
  await assert.rejects(fetch(`${server.origin}/healthz`));
  await server.stop();
});

test("what the program says when it does not start is in the error", async () => {
  const data = await mkdtemp(join(tmpdir(), "iolite-start-"));
  await writeFile(join(data, "thesis.txt"), "mine");
  await assert.rejects(startServer({ program, data }), /did not start: error: .*not Iolite's, such as thesis\.txt/);
  await assert.rejects(startServer({ program: "/nowhere/iolite" }), /cannot be started: .*ENOENT/);
  await rm(data, { recursive: true });
});

test("a server does not keep a process alive, and ends with it", async () => {
  const module = new URL("startServer.js", import.meta.url).href;
  const script = `const { startServer } = await import(${JSON.stringify(module)});
    const { origin } = await startServer({ program: ${JSON.stringify(program)} }); console.log(origin);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  assert.ok(existsSync(program));
  await assert.rejects(fetch(`${stdout.trim()}/healthz`));
});
