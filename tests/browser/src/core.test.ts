import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { launchChromium } from "./chromium.js";
import { serveFiles } from "./fileServer.js";
import { watch } from "./pageWatch.js";
import { repositoryPath } from "./repository.js";

test("the core loads in Chromium and has the package's version", async () => {
  const manifest = JSON.parse(await readFile(repositoryPath("sdks/typescript/client/package.json"), "utf8"));
  const files = await serveFiles(repositoryPath("sdks/typescript/client"));
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    const problems = watch(page);
    await page.goto(`${files.origin}/`);
    const version = await page.evaluate(async (address) => {
      const core = await import(address);
      await core.default();
      return core.version();
    }, `${files.origin}/dist/wasm/iolite_wasm.js`);
    assert.equal(version, manifest.version);
    assert.deepEqual(problems.problems(), []);
  } finally {
    await browser.close();
    await files.close();
  }
});
