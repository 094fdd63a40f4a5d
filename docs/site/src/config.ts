/** The settings of VitePress: the sidebar is the table of contents, and the search needs no server. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { DefaultTheme, UserConfig } from "vitepress";

import { MADE, type Page, SECTIONS } from "./contents.js";
import { addressOf, anchorOf, titleOf } from "./markdown.js";
import { BUILT, DESCRIPTION, repositoryPath, STAGED, TITLE } from "./settings.js";

export const config: UserConfig<DefaultTheme.Config> = {
  title: TITLE,
  description: DESCRIPTION,
  srcDir: STAGED,
  outDir: BUILT,
  cacheDir: join(STAGED, "../cache"),
  // Only what `make.ts` tests: links to what it copies beside the pages are not known here.
  ignoreDeadLinks: true,
  markdown: { anchor: { slugify: anchorOf } },
  themeConfig: {
    search: { provider: "local" },
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

function item(page: Page): DefaultTheme.SidebarItem {
  return { text: page.title ?? titleOf(readFileSync(repositoryPath(page.file), "utf8")), link: addressOf(page) };
}

function madeItems(): readonly DefaultTheme.SidebarItem[] {
  const rust = { text: "Rust, every item", link: "/rust/iolite/index.html", target: "_self" };
  return [
    { text: "@iolite/client, every symbol", link: `/${MADE.client}` },
    { text: "@iolite/react, every symbol", link: `/${MADE.react}` },
    { text: "The command line", link: `/${MADE.commandLine}` },
    ...(existsSync(repositoryPath("target/doc/iolite")) ? [rust] : []),
  ];
}
