/** The rights of the guide and of the examples become what is kept for servers: `crates/rights` reads the same files. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { runnerImport } from "vite";

const APPS = { chat: "chat/src/rights", guide: "guides/src/rights", rooms: "guides/src/rooms", "shopping-list": "shopping-list/src/rights", "word-board": "word-board/src/rights" };
const path = (relative: string): string => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

for (const [name, file] of Object.entries(APPS)) {
  test(`the rights of ${name} are what servers are tested with`, async () => {
    const { module } = await runnerImport<{ rights: unknown }>(path(`examples/${file}.ts`), { logLevel: "error" });
    assert.equal(`${JSON.stringify(module.rights)}\n`, await readFile(path(`sdks/golden/rights/${name}.json`), "utf8"));
  });
}
