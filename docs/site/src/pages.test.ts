/** The pages of the site keep these promises: all are there, guides are plain and quote tested code, every error has its place, the search finds. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import MiniSearch from "minisearch";

import { PAGES, SECTIONS } from "./contents.js";
import { titleOf } from "./markdown.js";
import { QUESTIONS } from "./questions.js";
import { SEARCH_OPTIONS } from "./search.js";
import { repositoryPath } from "./settings.js";

/** Plans are for people who build Iolite, and not for readers of the site. */
const LEFT_OUT = /^docs\/(plan(-.*)?\.md|site\/)/;

const read = (file: string): string => readFileSync(repositoryPath(file), "utf8");

test("every page of docs is on the site, and every page of the site is there", () => {
  const all = readdirSync(repositoryPath("docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`);
  const pages = all.filter((file) => file.endsWith(".md") && !LEFT_OUT.test(file) && !file.includes("node_modules"));
  const listed = new Set(PAGES.map(({ file }) => file));
  assert.deepEqual(pages.filter((file) => !listed.has(file)), [], "add them to contents.ts");
  assert.deepEqual(PAGES.filter(({ file }) => !existsSync(repositoryPath(file))), []);
  assert.equal(new Set(PAGES.map(({ path }) => path)).size, PAGES.length);
});

const PLAIN = PAGES.filter(({ file }) => file.startsWith("docs/guides/") || file === "docs/reference/errors.md");
const WORDS_MOST = 25;

/** Sentences of the prose of a page, without code, tables and headings. */
function sentences(markdown: string): readonly string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/^(\||#|<!--).*$/gm, "");
  const blocks = prose.split(/\n\s*\n|^\s*(?:- |\d+\. )/m).map((block) => block.replaceAll(/\]\([^)]*\)/g, "]").replaceAll(/`[^`]*`/g, "code").replaceAll("\n", " "));
  return blocks.flatMap((block) => block.split(/(?<=[.!?:;])\s+/)).filter((sentence) => sentence.trim() !== "");
}

test("sentences of guides have 25 words at most", () => {
  const long = PLAIN.flatMap(({ file }) =>
    sentences(read(file))
      .filter((sentence) => sentence.trim().split(/\s+/).length > WORDS_MOST)
      .map((sentence) => `${file}: ${sentence.trim()}`),
  );
  assert.deepEqual(long, []);
  assert.deepEqual(sentences("# A\n\nOne two. Three\nfour.\n\n- five `six seven`\n").map((one) => one.trim()), ["One two.", "Three four.", "five code"]);
});

test("code of guides is quoted from files that are compiled and tested", () => {
  const free = PLAIN.flatMap(({ file }) => [...read(file).matchAll(/(.*)\n```(tsx?|js)\n/g)].filter(([, before = ""]) => !before.startsWith("<!-- from ")).map(() => file));
  assert.deepEqual(free, [], "put the line <!-- from PATH --> before the block; `cargo xtask tidy` compares them");
});

test("every code of an error, and every reason of a refused connection, has a cause and a remedy", () => {
  const page = read("docs/reference/errors.md");
  const [, codes = ""] = /export type ErrorCode =([^;]*);/.exec(read("sdks/typescript/client/src/errors.ts")) ?? [];
  const [, reasons = ""] = /readonly refusal: ([^;]*);/.exec(read("sdks/typescript/client/src/client/types.ts")) ?? [];
  const names = [...`${codes} ${reasons}`.matchAll(/"([a-z-]+)"/g)].map(([, name = ""]) => name);
  assert.ok(names.length > 15);
  const parts = page.split(/^### /m).slice(1);
  assert.deepEqual(names.filter((name) => !parts.some((part) => part.startsWith(`\`${name}\``))), []);
  assert.deepEqual(parts.filter((part) => !part.includes("**Cause.**") || !part.includes("**Remedy.**")), []);
});

test("every kind of a failed call, and every reason of one that did not run, is on the page of errors in both languages", () => {
  const page = read("docs/reference/errors.md");
  const source = read("sdks/typescript/objects/src/callError.ts");
  const named = (type: string): string[] => [...(new RegExp(`export type ${type} =([^;]*);`).exec(source)?.[1] ?? "").matchAll(/"(\w+)"/g)].map(([, name = ""]) => name);
  const inRust = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  const kinds = named("CallErrorKind").map((kind) => `### \`${kind}\`, in Rust \`CallError::${inRust(kind)}\``);
  const reasons = named("NotRunReason").map((reason) => `| \`${reason}\`, \`${inRust(reason)}\` |`);
  assert.deepEqual([kinds.length, reasons.length], [6, 11]);
  assert.deepEqual([...kinds, ...reasons].filter((line) => !page.includes(`\n${line}`)), []);
});

/** As the search of VitePress: each heading with its text is an entry, and titles count more. */
test("the search finds the answer to twenty questions among its first five pages", () => {
  const search = new MiniSearch<{ id: string; title: string; titles: string; text: string }>({ fields: ["title", "titles", "text"], storeFields: ["id"] });
  for (const { file, path } of PAGES) {
    const markdown = read(file);
    markdown.split(/^(?=#{1,3} )/m).forEach((part, index) => {
      const [heading = "", ...text] = part.split("\n");
      search.add({ id: `${path}#${index}`, title: heading.replace(/^#+ /, ""), titles: titleOf(markdown), text: text.join("\n") });
    });
  }
  const lost = QUESTIONS.flatMap(([question, page]) => {
    const found = search.search(question, SEARCH_OPTIONS).map(({ id }) => String(id).split("#")[0] ?? "");
    const first = [...new Set(found)].slice(0, 5);
    return first.includes(page) ? [] : [`${question}: ${page} is not among ${first.join(", ")}`];
  });
  assert.equal(QUESTIONS.length, 20);
  assert.deepEqual(lost, []);
  assert.ok(SECTIONS.length > 5);
});
