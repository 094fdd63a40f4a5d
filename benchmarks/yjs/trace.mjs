/**
 * A recorded trace by Yjs: `node --expose-gc trace.mjs FILE` prints one line of JSON. A document an author; each patch is a transaction, and its
 * update is applied by the others when their author saw it. Bytes are those of the updates, in the first encoding: it is what
 * its providers send, and for single keystrokes it is the smaller one.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";

import * as Y from "yjs";

const path = process.argv[2];
const bytes = readFileSync(path);
const { endContent, txns } = JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString());
const steps = txns.map(({ agent = 0, parents, patches }, place) => ({ agent, parents: parents ?? (place > 0 ? [place - 1] : []), patches }));
// Then characters are units, and the text need not be looked at for each patch.
const isAscii = steps.every(({ patches }) => patches.every(([, , inserted]) => /^[\0-\x7f]*$/.test(inserted)));
const agents = Math.max(...steps.map(({ agent }) => agent)) + 1;

globalThis.gc?.();
const memoryBefore = process.memoryUsage().rss;
const begun = performance.now();
const updates = steps.map(() => []);
let [sent, edits, current] = [0, 0, 0];
const writers = Array.from({ length: agents }, (_, agent) => {
  const doc = new Y.Doc();
  doc.clientID = agent + 1;
  doc.on("update", (update, origin) => {
    if (origin !== "other") {
      updates[current].push(update);
      sent += update.length;
      edits += 1;
    }
  });
  return { doc, text: doc.getText("text"), seen: new Set() };
});

/** What comes before these, with them, and was not seen yet. */
function unseen(parents, seen) {
  const [found, open] = [new Set(), [...parents]];
  while (open.length > 0) {
    const place = open.pop();
    if (!seen.has(place) && !found.has(place)) {
      found.add(place);
      open.push(...steps[place].parents);
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** Positions of a trace are in characters. */
function units(text, from, count) {
  return isAscii ? count : [...text.toString()].slice(from, from + count).join("").length;
}

steps.forEach(({ agent, parents, patches }, place) => {
  const { doc, text, seen } = writers[agent];
  for (const other of unseen(parents, seen)) {
    updates[other].forEach((update) => Y.applyUpdate(doc, update, "other"));
    seen.add(other);
  }
  current = place;
  for (const [at, removed, inserted] of patches) {
    const [start, length] = [units(text, 0, at), units(text, at, removed)];
    doc.transact(() => {
      if (length > 0) text.delete(start, length);
      if (inserted !== "") text.insert(start, inserted);
    });
  }
  seen.add(place);
});
const [first] = writers;
unseen(steps.map((_, place) => place), first.seen).forEach((other) =>
  updates[other].forEach((update) => Y.applyUpdate(first.doc, update, "other")),
);
const seconds = (performance.now() - begun) / 1000;
globalThis.gc?.();
const memory_bytes = Math.max(0, process.memoryUsage().rss - memoryBefore);
const { version } = createRequire(import.meta.url)("yjs/package.json");
const ends_as_recorded = first.text.toString() === endContent;
console.log(JSON.stringify({ version, seconds, bytes_an_edit: sent / edits, memory_bytes, ends_as_recorded }));
