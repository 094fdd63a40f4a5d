import assert from "node:assert/strict";
import { test } from "node:test";

import { deadLinksIn } from "./links.js";

const FILES = { "index.html": "", "a/b.html": '<h2 id="one">', "a/index.html": "", "p.svg": "" };

function dead(html: string): readonly string[] {
  return deadLinksIn(new Map(Object.entries({ ...FILES, "a/c.html": html })));
}

test("links to files, folders and anchors that are there are alive", () => {
  assert.deepEqual(dead('<a href="/">1</a><a href="/a/b#one">2</a><a class="x" href="b.html">3</a><a href="/a/">4</a><a href="../p.svg">5</a><a href="https://x.y/z">6</a>'), []);
});

test("links that lead nowhere are named, with where they stand", () => {
  assert.deepEqual(dead('<a href="/a/d">1</a><a href="b#two">2</a><a href="#three">3</a>'), ["a/c.html: /a/d", "a/c.html: b#two", "a/c.html: #three"]);
});
