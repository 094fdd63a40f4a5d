/**
 * Writes the notices of other people's crates in the program: names, licences, and the texts that their packages have. Texts that are the same are written once.
 * Usage: node third-party.mjs PACKAGE < cargo-metadata.json. A crate without a text is listed at the end, with the licence that it names.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { linked } from "./linked.mjs";

const TEXT = /^(licen[cs]e|copying|notice|copyright|unlicense)/i;

function textsOf({ manifest_path }) {
  const folder = dirname(manifest_path);
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && TEXT.test(entry.name));
  return files.map(({ name }) => readFileSync(join(folder, name), "utf8").trim());
}

const crates = linked(process.argv[2]).all.filter(({ source }) => source !== null);
const users = new Map();
const without = [];
for (const crate of crates) {
  const texts = textsOf(crate);
  texts.forEach((text) => users.set(text, [...(users.get(text) ?? []), `${crate.name} ${crate.version}`]));
  if (texts.length === 0) {
    without.push(crate);
  }
}
const line = "=".repeat(100);
const parts = [`Other people's crates in this program, and their licences.\n\n${crates.map(({ name, version, license }) => `${name} ${version}: ${license ?? "see its text"}`).join("\n")}`];
for (const [text, names] of users) {
  parts.push(`${names.join(", ")}\n\n${text}`);
}
if (without.length > 0) {
  parts.push(`These packages have no text of their own. Each is under the licence that it names above:\n\n${without.map(({ name, version, license }) => `${name} ${version}: ${license}`).join("\n")}`);
}
console.log(parts.join(`\n\n${line}\n`));
