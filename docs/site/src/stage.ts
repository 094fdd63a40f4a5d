/** Brings the pages of the repository to where VitePress makes a site of them. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { PAGES } from "./contents.js";
import { onSite } from "./markdown.js";
import { builder, REPOSITORY, repositoryPath, SITE, STAGED, TITLE } from "./settings.js";

export function writePage(path: string, text: string): void {
  const file = join(STAGED, `${path}.md`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** VitePress finds its settings here. Pages become modules that import Vue from where they lie, so the packages that build the site are linked beside them. */
export function stageBuilder(): void {
  mkdirSync(join(SITE, ".vitepress"), { recursive: true });
  writeFileSync(join(SITE, ".vitepress/config.mjs"), `export { config as default } from ${JSON.stringify(repositoryPath("docs/site/dist/config.js"))};\n`);
  const link = join(SITE, "node_modules");
  rmSync(link, { recursive: true, force: true });
  symlinkSync(builder(""), link);
}

export function stagePages(): void {
  rmSync(STAGED, { recursive: true, force: true });
  for (const page of PAGES) {
    const markdown = readFileSync(repositoryPath(page.file), "utf8");
    writePage(page.path, onSite(markdown, page, { pages: PAGES, repository: REPOSITORY }));
  }
  writePage("index", FIRST_PAGE);
  const pictures = repositoryPath("docs/images");
  const into = join(STAGED, "public");
  mkdirSync(into, { recursive: true });
  readdirSync(pictures).forEach((name) => copyFileSync(join(pictures, name), join(into, name)));
}

const FIRST_PAGE = `---
layout: home
hero:
  name: ${TITLE}
  text: Shared state for apps
  tagline: For what several people use at once, on devices that lose the network. Transactions instead of last-write-wins, also offline.
  actions:
    - { theme: brand, text: Your first app, link: /start/tutorial }
    - { theme: alt, text: What Iolite is, link: /start/about }
features:
  - { title: Guides, details: "Forms, lists, a page that works offline, tests of your app.", link: /guides/ }
  - { title: Reference, details: "Every function of the SDKs, the command line, errors by code.", link: /reference/client }
  - { title: How it works, details: "The protocols, what was decided and why, and what was done to break it.", link: /how/architecture }
---
`;
