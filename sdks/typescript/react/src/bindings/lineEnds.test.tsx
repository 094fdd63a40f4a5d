import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { event } from "../testing/page.js";
import { compose, show, type } from "../testing/show.js";

import { act } from "react";

import { TextArea, type TextAreaProps, TextBox } from "../index.js";
import { FakeLive, FakeText } from "../testing/fakeLive.js";
import { applied } from "./difference.js";
import { editOfText, type LineEnds, shownOf } from "./lineEnds.js";

const PIECES = ["a", "b", "\r", "\n", "\r\n", "\u{1fa91}"];
const TYPED = ["", "x", "\n", "\n\n", "x\ny", "\u{1fa91}"];

/** Numbers from 0 to below `most`, the same at every run. */
function drawing(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** A text, and an edit of what is shown of it that cuts no character in two. */
function drawn(draw: (most: number) => number, ends: LineEnds) {
  const text = Array.from({ length: draw(7) }, () => PIECES[draw(PIECES.length)]).join("");
  const shown = Array.from(shownOf(text, ends));
  const from = draw(shown.length + 1);
  const to = from + draw(shown.length - from + 1);
  const inserted = shownOf(TYPED[draw(TYPED.length)] ?? "", ends);
  const removed = shown.slice(from, to).join("").length;
  return { text, shown: shown.join(""), edit: { at: shown.slice(0, from).join("").length, removed, inserted } };
}

function isWithinPair(text: string, place: number): boolean {
  return text[place - 1] === "\r" && text[place] === "\n";
}

for (const ends of ["shown", "hidden"] as const) {
  test(`an edit of a text whose line ends are ${ends} does to what is shown what was typed, and parts no line end`, () => {
    const draw = drawing(7);
    for (let round = 0; round < 20_000; round += 1) {
      const { text, shown, edit } = drawn(draw, ends);
      const own = editOfText(text, edit, ends);
      const said = JSON.stringify({ round, text, edit, own });
      const after = applied(text, own);
      assert.equal(shownOf(after, ends), applied(shown, edit), said);
      const parts = isWithinPair(text, own.at) || isWithinPair(text, own.at + own.removed);
      assert.ok(!parts || ends === "hidden", said);
      // No more goes than was typed over, but for a `\r` that another line end would join, and for what is hidden.
      const gone = text.slice(own.at, own.at + own.removed);
      const more = gone.slice(0, shownOf(gone, ends).length - edit.removed);
      assert.ok(ends === "hidden" || /^\r*$/.test(more), said);
    }
  });
}

test("an edit removes the line ends of every system as a whole, at either end and alone", () => {
  const removing = (text: string, at: number, removed = 1): string => applied(text, editOfText(text, { at, removed, inserted: "" }, "shown"));
  assert.equal(removing("\r\n", 0), "");
  assert.equal(removing("\r", 0), "");
  assert.equal(removing("\r\na", 0), "a");
  assert.equal(removing("a\r\n", 1), "a");
  assert.equal(removing("a\rb\nc\r\nd", 5), "a\rb\ncd");
  assert.equal(removing("\u{1fa91}\r\n\u{1fa91}\r\n", 2, 3), "\u{1fa91}\r\n");
  assert.equal(removing("\rx\n", 1), "\n\n", "a line end each stays one");
});

test("an edit at a line end is before it or behind it, and never within", () => {
  const inserting = (text: string, at: number, inserted: string): string => applied(text, editOfText(text, { at, removed: 0, inserted }, "shown"));
  assert.equal(inserting("l1\r\nl2\r\nl3", 5, "X"), "l1\r\nl2X\r\nl3");
  assert.equal(inserting("l1\r\nl2\r\nl3", 6, "X"), "l1\r\nl2\r\nXl3");
  assert.equal(inserting("a\rb", 2, "\n"), "a\n\nb");
});

test("a line end that a box does not show stays where others need it, and goes with all that is shown", () => {
  const edited = (text: string, at: number, removed: number, inserted: string): string =>
    applied(text, editOfText(text, { at, removed, inserted }, "hidden"));
  assert.equal(edited("one\r\ntwo\n", 6, 0, "!"), "one\r\ntwo!\n");
  assert.equal(edited("one\r\ntwo\n", 2, 1, ""), "on\r\ntwo\n");
  assert.equal(edited("one\r\ntwo\n", 2, 2, ""), "onwo\n");
  assert.equal(edited("one\r\ntwo\n", 0, 6, ""), "");
  assert.equal(edited("\n", 0, 0, "x"), "x");
});

async function showArea(text: FakeText, props: Partial<TextAreaProps> = {}) {
  const { page, end } = await show(<TextArea {...props} bind={() => text} />);
  const area = page.querySelector("textarea");
  assert.ok(area !== null);
  return { area, end };
}

test("a text area shows each line end as one, and edits a text of another system where its caret is", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("l1\r\nl2\r\nl3"));
  assert.deepEqual([area.value, text.splices], ["l1\nl2\nl3", []], "it is shown, and not rewritten");
  await type(area, "l1\nl2X\nl3", 6);
  await type(area, "l1\nl2\nl3", 5);
  await type(area, "l1l2\nl3", 2);
  assert.deepEqual([text.written, area.value, area.selectionStart], ["l1l2\r\nl3", "l1l2\nl3", 2]);
  await end();
});

test("a text that is only a line end of another system can be cleared", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("\r\n"));
  await type(area, "");
  assert.deepEqual([text.written, area.value], ["", ""]);
  await end();
});

test("what others write with line ends of their system moves the caret with its characters, and what is typed meanwhile goes to its place", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("a\r\nb\r\nc"));
  area.setSelectionRange(3, 3);
  await act(async () => text.become("\u{1fa91}\r\n\r\na\r\nb\r\nc"));
  assert.deepEqual([area.value, area.selectionStart], ["\u{1fa91}\n\na\nb\nc", 7]);
  // Before this is shown somebody writes a line above.
  text.written = "zero\r\n\u{1fa91}\r\n\r\na\r\nb\r\nc";
  await type(area, "\u{1fa91}\n\na\nbX\nc", 8);
  assert.deepEqual([text.written, area.value], ["zero\r\n\u{1fa91}\r\n\r\na\r\nbX\r\nc", "zero\n\u{1fa91}\n\na\nbX\nc"]);
  await end();
});

test("what an input method composes behind a line end of another system is written where it is composed", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("\r\n\r\n"));
  await compose(area, "start");
  await type(area, "\n\u4f60\n", 2);
  await act(async () => text.become("0\r\n\u4f60\r\n"));
  await type(area, "\n\u4f60\u597d\n", 3);
  await compose(area, "end");
  assert.deepEqual([text.written, area.value], ["0\r\n\u4f60\u597d\r\n", "0\n\u4f60\u597d\n"]);
  await end();
});

test("a line end that was removed and is typed or undone again is one", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("a\r\nb"));
  await type(area, "ab", 1);
  await type(area, "a\nb", 2);
  assert.deepEqual([text.written, area.value], ["a\nb", "a\nb"]);
  await end();
});

test("a text box edits a text of several lines without losing any", async () => {
  const title = new FakeLive<string>();
  const { page, end } = await show(<TextBox bind={() => title} />);
  const input = page.querySelector("input");
  assert.ok(input !== null);
  await act(async () => title.become("one\r\ntwo\n"));
  assert.equal(input.value, "onetwo");
  await type(input, "onetwo!");
  await act(async () => title.become("one\r\ntwo!\n"));
  await type(input, "netwo!", 0);
  assert.deepEqual(title.written, ["one\r\ntwo!\n", "ne\r\ntwo!\n"]);
  await end();
});

test("half of a character waits in the box for its other half, and what others write waits meanwhile", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("ab"));
  await type(area, "a\ud83db", 2);
  await act(async () => text.become("0ab"));
  assert.deepEqual([text.splices, area.value], [[], "a\ud83db"]);
  await type(area, "a\ud83d\ude00b", 3);
  assert.deepEqual([text.written, area.value, onError.mock.callCount()], ["0a\u{1f600}b", "0a\u{1f600}b", 0]);
  await end();
});

for (const [how, go] of [
  ["something else is typed", async (area: HTMLTextAreaElement) => type(area, "a\ud83dbc")],
  ["the box is left", async (area: HTMLTextAreaElement) => act(async () => void area.dispatchEvent(event("focusout")))],
] as const) {
  test(`half of a character whose other half does not come goes when ${how}, with a word, and the rest is written`, async () => {
    const [text, onError] = [new FakeText(), mock.fn()];
    const { area, end } = await showArea(text, { onError });
    await act(async () => text.become("a"));
    await type(area, "a\ud83db");
    await go(area);
    assert.match(text.written ?? "", /^abc?$/);
    assert.equal(area.value, text.written);
    assert.match(onError.mock.calls[0]?.arguments[0].message, /half of a character/);
    assert.equal(onError.mock.callCount(), 1);
    await end();
  });
}

test("what was typed beside half of a character is written when the box goes", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("a"));
  await type(area, "a\ud83db");
  await end();
  assert.deepEqual([text.written, onError.mock.callCount()], ["ab", 1]);
});
