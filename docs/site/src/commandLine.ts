/** The page of the command line: what `iolite --help` says, of each command below its own heading. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

import { repositoryPath } from "./settings.js";

const PROGRAM = repositoryPath("target/release/iolite");

/** The help of a command; none if its program was not built. */
export type Help = (words: readonly string[]) => string | undefined;

export function commandLinePage(help: Help = ask): string {
  return ["# The command line", "", "What `iolite --help` says, and the help of each command.", "", ...sections([], help)].join("\n");
}

function ask(words: readonly string[]): string | undefined {
  if (!existsSync(PROGRAM)) {
    throw new Error(`${PROGRAM} does not exist: run \`make server\``);
  }
  const { status, stdout, stderr } = spawnSync(PROGRAM, [...words, "--help"], { encoding: "utf8" });
  if (status === 0) {
    return stdout;
  }
  if (stderr.includes("is not beside")) {
    return undefined;
  }
  throw new Error(`\`iolite ${[...words, "--help"].join(" ")}\` failed: ${stderr}`);
}

function sections(words: readonly string[], help: Help): readonly string[] {
  const text = help(words);
  const heading = ["iolite", ...words].join(" ");
  if (text === undefined) {
    return [`## ${heading}`, "", `This command starts a program of its own, which is for people who build Iolite. \`${heading} --help\` lists its options.`, ""];
  }
  const own = [`## ${heading}`, "", "```text", text.trimEnd(), "```", ""];
  return [...own, ...commandsOf(text).flatMap((name) => sections([...words, name], help))];
}

/** The commands that a help lists. */
export function commandsOf(help: string): readonly string[] {
  const [, listed = ""] = /^Commands:\n((?: {2}.*\n|\n)*)/m.exec(help) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help");
}
