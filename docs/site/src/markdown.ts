/** Pages of the repository as pages of the site: links lead where the page is on the site, and nothing in a text is taken for code of Vue. */

import { posix } from "node:path";

import type { Page } from "./contents.js";

export interface Site {
  readonly pages: readonly Page[];
  /** The address of a file in the repository, if there is one. */
  readonly repository: string | undefined;
}

/** A path from the root, for a link from a file. */
export function resolved(file: string, target: string): string {
  return posix.normalize(posix.join(posix.dirname(file), target)).replace(/\/$/, "");
}

/** The anchors that GitHub gives to headings; `cargo xtask tidy` has the same. */
export function anchorOf(heading: string): string {
  const kept = [...heading].filter((letter) => /[\p{L}\p{N} _-]/u.test(letter)).join("");
  return kept.toLowerCase().replaceAll(" ", "-");
}

export function addressOf({ path }: Page): string {
  return `/${path.replace(/(^|\/)index$/, "$1")}`;
}

export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "";
}

/** The text of a page of the site. */
export function onSite(markdown: string, page: Page, site: Site): string {
  return inProse(markdown.replaceAll(/^<!--.*-->\n/gm, ""), (line) =>
    outsideOfCode(line.replaceAll(/(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)/g, (whole, mark: string, text: string, target: string) =>
      mark === "!" ? `![${text}](/${posix.basename(target)})` : link(whole, text, target, page, site),
    ), (text) => text.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;")),
  );
}

function link(whole: string, text: string, target: string, page: Page, site: Site): string {
  if (/^[a-z]+:/.test(target) || target.startsWith("#")) {
    return whole;
  }
  const [path = "", anchor] = target.split("#");
  const file = resolved(page.file, path);
  const other = site.pages.find((one) => one.file === file);
  if (other !== undefined) {
    return `[${text}](${addressOf(other)}${anchor === undefined ? "" : `#${anchor}`})`;
  }
  if (site.repository !== undefined) {
    return `[${text}](${site.repository}/${file})`;
  }
  return text.replaceAll("`", "").includes(posix.basename(file)) ? text : `${text} (\`${file}\`)`;
}

/** Changes the lines that are not in code blocks. */
function inProse(markdown: string, change: (line: string) => string): string {
  let inside = false;
  return markdown
    .split("\n")
    .map((line) => {
      const isFence = line.trimStart().startsWith("```");
      inside = isFence ? !inside : inside;
      return inside || isFence ? line : change(line);
    })
    .join("\n");
}

/** Changes the parts of a line that are not in code marks. */
function outsideOfCode(line: string, change: (text: string) => string): string {
  return line
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : change(part)))
    .join("");
}
