/** The bill of materials of a release lists what is linked into the program, and nothing that only builds or tests it. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../../../../scripts/release/sbom.mjs", import.meta.url));

function crate(name: string, license: string | null): object {
  return { id: name, name, version: "1.0.0", license, source: name === "program" ? null : "registry" };
}

function uses(pkg: string, kind: string | null): object {
  return { pkg, dep_kinds: [{ kind }] };
}

const METADATA = {
  packages: [crate("program", "Apache-2.0"), crate("linked", "MIT/Apache-2.0"), crate("below", null), crate("tested-with", "MIT"), crate("built-with", "MIT")],
  resolve: {
    nodes: [
      { id: "program", deps: [uses("linked", null), uses("tested-with", "dev"), uses("built-with", "build")] },
      { id: "linked", deps: [uses("below", null)] },
      { id: "below", deps: [] },
      { id: "tested-with", deps: [] },
      { id: "built-with", deps: [] },
    ],
  },
};

const LOCK = `[[package]]\nname = "linked"\nversion = "1.0.0"\nchecksum = "${"ab".repeat(32)}"\n`;

test("a bill of materials has each linked crate once, with licence, checksum and what it uses", () => {
  const folder = mkdtempSync(join(tmpdir(), "iolite-bill-"));
  try {
    writeFileSync(join(folder, "Cargo.lock"), LOCK);
    const bill = JSON.parse(execFileSync(process.execPath, [SCRIPT, "program"], { cwd: folder, input: JSON.stringify(METADATA), encoding: "utf8" })) as Record<string, unknown>;
    const [program, linked, below] = ["pkg:cargo/program@1.0.0", "pkg:cargo/linked@1.0.0", "pkg:cargo/below@1.0.0"];
    assert.deepEqual([bill["bomFormat"], bill["specVersion"]], ["CycloneDX", "1.6"]);
    assert.deepEqual(bill["components"], [
      { type: "library", "bom-ref": below, name: "below", version: "1.0.0", purl: below },
      {
        type: "library",
        "bom-ref": linked,
        name: "linked",
        version: "1.0.0",
        hashes: [{ alg: "SHA-256", content: "ab".repeat(32) }],
        licenses: [{ expression: "MIT OR Apache-2.0" }],
        purl: linked,
      },
    ]);
    assert.deepEqual(bill["dependencies"], [
      { ref: below, dependsOn: [] },
      { ref: linked, dependsOn: [below] },
      { ref: program, dependsOn: [linked] },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
