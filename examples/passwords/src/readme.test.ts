/** The lines of code that README.md names are those of the code. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const FOLDER = new URL("../", import.meta.url);

function lines(...files: readonly string[]): number {
  const all = files.flatMap((file) => readFileSync(new URL(`src/${file}`, FOLDER), "utf8").split("\n"));
  return all.filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length;
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(new URL(`src/${folder}/`, FOLDER)).filter((file) => !file.includes(".test.")).map((file) => `${folder}/${file}`);
}

test("the README counts the lines of both ways", () => {
  const readme = readFileSync(new URL("README.md", FOLDER), "utf8");
  const counted = [...readme.matchAll(/^\| A[^|]*\| (\d+) \| (\d+) \|$/gm)].map(([, conflicts, all]) => [Number(conflicts), Number(all)]);
  assert.deepEqual(counted, [
    [lines("rows/useRowConflicts.ts"), lines(...filesOf("rows"))],
    [lines("vault/useVaultConflicts.ts", "vault/merge.ts", "vault/useWrite.ts"), lines(...filesOf("vault"))],
  ]);
});
