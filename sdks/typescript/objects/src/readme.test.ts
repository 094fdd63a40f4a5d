import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startDevServer } from "./testing/devServer.js";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

test("the README's example is the one in examples/, and runs against a server", async () => {
  const example = await readFile(path("../examples/todoList.ts"), "utf8");
  const [, shown = ""] = /\/\/ README: begin\n([\s\S]*)\/\/ README: end/.exec(example) ?? [];
  const readme = await readFile(path("../README.md"), "utf8");
  assert.ok(shown.length > 0 && readme.includes(`\`\`\`ts\n${shown.trim()}\n\`\`\``));
  const server = await startDevServer();
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [path("./examples/todoList.js"), server.url, server.token], { timeout: 20_000 });
    assert.equal(stdout, "[ 'milk' ]\n");
  } finally {
    await server.stop();
  }
});
