/** `make docs`: the pages, the reference of the SDKs and of the command line, the site of them, and a look at all of its links. */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";

import { commandLinePage } from "./commandLine.js";
import { MADE } from "./contents.js";
import { deadLinks } from "./links.js";
import { stageSdks } from "./sdks.js";
import { BUILT, builder, repositoryPath, SITE } from "./settings.js";
import { stageBuilder, stagePages, writePage } from "./stage.js";

stageBuilder();
stagePages();
writePage(MADE.commandLine, commandLinePage());
stageSdks();
execFileSync(process.execPath, [builder("vitepress/bin/vitepress.js"), "build", SITE], { stdio: "inherit" });
const rustdoc = repositoryPath("target/doc");
const withRust = existsSync(join(rustdoc, "iolite"));
if (withRust) {
  cpSync(rustdoc, join(BUILT, "rust"), { recursive: true });
}
const dead = deadLinks(BUILT);
if (dead.length > 0) {
  throw new Error(`links that lead nowhere:\n${dead.join("\n")}`);
}
console.log(`docs: ${BUILT}/index.html${withRust ? "" : ", without rustdoc: \`cargo doc --no-deps --package iolite\` makes it"}`);
