import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

test("the README's example is the one in examples/, which the compiler checks", async () => {
  const example = await readFile(new URL("../examples/Hits.tsx", import.meta.url), "utf8");
  const [, shown = ""] = /\/\/ README: begin\n([\s\S]*)\/\/ README: end/.exec(example) ?? [];
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  assert.ok(shown.length > 0 && readme.includes(`\`\`\`tsx\n${shown.trim()}\n\`\`\``));
});
