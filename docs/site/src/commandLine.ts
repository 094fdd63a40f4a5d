/** The page of the command line: what `iolite --help` says, of each command below its own heading. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

import { repositoryPath } from "./settings.js";

const PROGRAM = repositoryPath("target/release/iolite");

export type Help = (words: readonly string[]) => string;

export function commandLinePage(help: Help = ask): string {
  return ["# The command line", "", "What `iolite --help` says, and the help of each command.", "", ...sections([], help)].join("\n");
}

function ask(words: readonly string[]): string {
  if (!existsSync(PROGRAM)) {
    throw new Error(`${PROGRAM} does not exist: run \`make server\``);
  }
  return execFileSync(PROGRAM, [...words, "--help"], { encoding: "utf8" });
}

function sections(words: readonly string[], help: Help): readonly string[] {
  const text = help(words);
  const own = [`## ${["iolite", ...words].join(" ")}`, "", "```text", text.trimEnd(), "```", ""];
  return [...own, ...commandsOf(text).flatMap((name) => sections([...words, name], help))];
}

/** The commands that a help lists. */
export function commandsOf(help: string): readonly string[] {
  const [, listed = ""] = /^Commands:\n((?: {2}.*\n|\n)*)/m.exec(help) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help");
}
