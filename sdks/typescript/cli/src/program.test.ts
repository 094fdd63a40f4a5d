import assert from "node:assert/strict";
import { test } from "node:test";

import { programOf } from "./program.js";

const resolve = (file: string): string => `/modules/${file}`;

test("the program is in the package for this machine", () => {
  assert.equal(programOf({ platform: "linux", arch: "x64", resolve }), "/modules/@iolite/cli-linux-x64/bin/iolite");
});

test("a machine without a program is told what to do", () => {
  assert.throws(() => programOf({ platform: "darwin", arch: "arm64", resolve }), /no program for darwin-arm64, only for linux-x64: build it from source/);
});

test("a package that npm left out is named", () => {
  const missing = (): string => {
    throw new Error("Cannot find module");
  };
  assert.throws(() => programOf({ platform: "linux", arch: "x64", resolve: missing }), /@iolite\/cli-linux-x64 is not installed beside @iolite\/cli/);
});
