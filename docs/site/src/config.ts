/** The settings of VitePress: the sidebar is the table of contents, and the search needs no server. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { MADE, type Page, SECTIONS } from "./contents.js";
import { addressOf, anchorOf, titleOf } from "./markdown.js";
import { SEARCH_OPTIONS } from "./search.js";
import { BUILT, DESCRIPTION, repositoryPath, STAGED, TITLE } from "./settings.js";

/** An entry of the sidebar, as VitePress takes it. */
interface Item {
  readonly text: string;
  readonly link: string;
  readonly target?: string;
}

/** VitePress is not in this package, so that nobody installs it who makes no site: `builder/package.json` has it. */
export const config = {
  title: TITLE,
  description: DESCRIPTION,
  srcDir: STAGED,
  outDir: BUILT,
  cacheDir: join(STAGED, "../cache"),
  // Only what `make.ts` tests: links to what it copies beside the pages are not known here.
  ignoreDeadLinks: true,
  markdown: { anchor: { slugify: anchorOf } },
  themeConfig: {
    search: { provider: "local", options: { miniSearch: { searchOptions: SEARCH_OPTIONS } } },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start/tutorial" },
      { text: "Guides", link: "/guides/" },
      { text: "Reference", link: "/reference/client" },
      { text: "How it works", link: "/how/architecture" },
    ],
    sidebar: SECTIONS.map(({ title, pages }) => ({
      text: title,
      collapsed: !["Start", "Guides", "Reference"].includes(title),
      items: [...pages.map(item), ...(title === "Reference" ? madeItems() : [])],
    })),
  },
};

function item(page: Page): Item {
  return { text: page.title ?? titleOf(readFileSync(repositoryPath(page.file), "utf8")), link: addressOf(page) };
}

function madeItems(): readonly Item[] {
  const rust = { text: "Rust, every item", link: "/rust/iolite/index.html", target: "_self" };
  return [
    { text: "@iolite/client, every symbol", link: `/${MADE.client}` },
    { text: "@iolite/react, every symbol", link: `/${MADE.react}` },
    { text: "@iolite/objects, every symbol", link: `/${MADE.objects}` },
    { text: "The command line", link: `/${MADE.commandLine}` },
    ...(existsSync(repositoryPath("target/doc/iolite")) ? [rust] : []),
  ];
}
