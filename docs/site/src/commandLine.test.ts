import assert from "node:assert/strict";
import { test } from "node:test";

import { commandLinePage, commandsOf } from "./commandLine.js";

const TOP = "Iolite\n\nUsage: iolite <COMMAND>\n\nCommands:\n  dev           One\n                more of it\n  check-backup  Two\n  help          Help\n\nOptions:\n  -h, --help\n";

test("commands are those that a help lists, without help itself", () => {
  assert.deepEqual(commandsOf(TOP), ["dev", "check-backup"]);
  assert.deepEqual(commandsOf("Usage: iolite dev\n\nOptions:\n  --port <PORT>\n"), []);
});

test("every command has its help under its own heading", () => {
  const page = commandLinePage((words) => (words.length === 0 ? TOP : `help of ${words.join(" ")}\n`));
  assert.deepEqual(page.match(/^## .*$/gm), ["## iolite", "## iolite dev", "## iolite check-backup"]);
  assert.ok(page.includes("## iolite dev\n\n```text\nhelp of dev\n```\n"));
});

test("a command whose program was not built has a sentence in place of its help", () => {
  const page = commandLinePage((words) => (words.length === 0 ? TOP : words[0] === "dev" ? undefined : "help\n"));
  assert.match(page, /## iolite dev\n\nThis command starts a program of its own.*`iolite dev --help`/);
  assert.ok(page.includes("## iolite check-backup\n\n```text\nhelp\n```\n"));
});
