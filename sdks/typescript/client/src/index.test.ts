import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { loadCoreFromBytes, version } from "./index.js";

test("the core loads in Node and has the package's version", async () => {
  const module = await readFile(new URL("./wasm/iolite_wasm_bg.wasm", import.meta.url));
  const manifest: unknown = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  loadCoreFromBytes({ module });
  assert.deepEqual({ version: version() }, { version: (manifest as { version: string }).version });
});
