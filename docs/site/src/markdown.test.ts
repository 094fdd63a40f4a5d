import assert from "node:assert/strict";
import { test } from "node:test";

import { anchorOf, onSite, resolved, titleOf } from "./markdown.js";

const PAGE = { file: "docs/guides/a.md", path: "guides/a" };
const SITE = { pages: [PAGE, { file: "README.md", path: "start/about" }], repository: undefined };

test("links lead to pages of the site, and files that are not on it are named", () => {
  assert.equal(onSite("[x](../../README.md#two) [y](https://example.org) [z](#own)", PAGE, SITE), "[x](/start/about#two) [y](https://example.org) [z](#own)");
  assert.equal(onSite("[the code](../../src/a.ts), [`a.ts`](../../src/a.ts)", PAGE, SITE), "the code (`src/a.ts`), `a.ts`");
  assert.equal(onSite("[a](../../src/a.ts)", PAGE, { ...SITE, repository: "https://h/blob/main" }), "[a](https://h/blob/main/src/a.ts)");
  assert.equal(onSite("![p](../images/demo.webp)", PAGE, SITE), "![p](/demo.webp)");
});

test("code stays as it is, and text is no code of Vue", () => {
  const code = "<!-- from a.ts -->\n```ts\n{{ a }} [x](y.md) <T>\n```\n";
  assert.equal(onSite(code, PAGE, SITE), "```ts\n{{ a }} [x](y.md) <T>\n```\n");
  assert.equal(onSite("a <T> {{ b }} `<T>`", PAGE, SITE), "a &lt;T> &#123;&#123; b }} `<T>`");
});

test("paths, anchors and titles are those of the repository's pages", () => {
  assert.equal(resolved("docs/guides/a.md", "../b.md"), "docs/b.md");
  assert.equal(anchorOf("What it can't do, `yet`"), "what-it-cant-do-yet");
  assert.equal(titleOf("intro\n# The `iolite` page\n# two"), "The iolite page");
});
