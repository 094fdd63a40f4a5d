import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { compose, show, type } from "../testing/show.js";

import { act } from "react";

import { TextArea, type TextAreaProps } from "../index.js";
import { FakeText } from "../testing/fakeLive.js";
import { applied, carried, difference, inverse, moved } from "./difference.js";

async function showArea(text: FakeText, props: Partial<TextAreaProps> = {}) {
  const bound = (shown: FakeText) => <TextArea {...props} bind={() => shown} deps={[shown]} />;
  const { page, render, end } = await show(bound(text));
  const area = page.querySelector("textarea");
  assert.ok(area !== null);
  return { area, render: (shown: FakeText) => render(bound(shown)), end };
}

test("a text area writes what was typed as a splice at the caret", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  assert.ok(area.disabled, "while the text is on its way");
  await act(async () => text.become("aaa"));
  assert.deepEqual([area.value, area.disabled], ["aaa", false]);
  await type(area, "aaaa", 2);
  await type(area, "aXa", 2);
  assert.deepEqual(text.splices, [[1, 0, "a"], [1, 2, "X"]]);
  await end();
});

test("what others type moves the caret with the characters that it stands between", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("hello world"));
  area.setSelectionRange(6, 11);
  await act(async () => text.become("hello, big world"));
  assert.deepEqual([area.value, area.selectionStart, area.selectionEnd], ["hello, big world", 11, 16]);
  await act(async () => text.become("hello"));
  assert.deepEqual([area.value, area.selectionStart, area.selectionEnd], ["hello", 5, 5]);
  await end();
});

test("what is typed before others' edits are shown goes where it was typed", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("world"));
  text.written = "hello world";
  await type(area, "world!", 6);
  assert.deepEqual([text.splices, text.written, area.value, area.selectionStart], [[[11, 0, "!"]], "hello world!", "hello world!", 12]);
  await end();
});

test("what is typed while nobody knows the text stays in the box, and is written once somebody does", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("world"));
  text.written = undefined;
  await type(area, "world!", 6);
  await type(area, "world!!", 7);
  t.mock.timers.tick(1000);
  assert.deepEqual([area.value, text.splices], ["world!!", []]);
  text.written = "hello world";
  t.mock.timers.tick(1000);
  assert.deepEqual([area.value, area.selectionStart, text.splices], ["hello world!!", 13, [[11, 0, "!!"]]]);
  await end();
});

test("what was typed into one text is written into that one, also when its box shows another", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [text, other] = [new FakeText(), new FakeText()];
  const { area, render, end } = await showArea(text);
  await act(async () => text.become("one"));
  text.written = undefined;
  await type(area, "one!", 4);
  await render(other);
  await act(async () => other.become("another"));
  text.written = "one";
  t.mock.timers.tick(1000);
  assert.deepEqual([area.value, text.splices, other.splices], ["another", [[3, 0, "!"]], []]);
  await end();
});

test("what was typed into a text that is gone before it could be written is told", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("one"));
  text.written = undefined;
  await type(area, "one!", 4);
  await end();
  Object.defineProperty(text, "value", { value: undefined });
  t.mock.timers.tick(1000);
  assert.equal(onError.mock.callCount(), 1);
});

test("what cannot be written is told, and the box shows the text without it", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("stored"));
  text.refusal = new Error("too large");
  await type(area, "stored and more", 15);
  assert.deepEqual([area.value, area.selectionStart, onError.mock.calls.map(({ arguments: [error] }) => error)], ["stored", 6, [text.refusal]]);
  text.refusal = undefined;
  await type(area, "stored.", 7);
  assert.deepEqual(text.splices, [[6, 0, "."]]);
  await end();
});

test("a text area shows the text again when what was typed was refused later, which is told once", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("old"));
  await type(area, "old!");
  text.written = "old";
  await act(async () => text.handles[0]?.end({ state: "rejected", reason: "no" }));
  assert.deepEqual([area.value, onError.mock.calls.map(({ arguments: [error] }) => error.message)], ["old", ["no"]]);
  await end();
});

test("a text area that is bound to another row shows nothing of the one before", async () => {
  const [one, two] = [new FakeText(), new FakeText()];
  const { area, render, end } = await showArea(one);
  await act(async () => one.become("one"));
  await render(two);
  assert.deepEqual([area.value, area.disabled], ["", true], "while it is on its way");
  await act(async () => two.become("two"));
  assert.deepEqual([area.value, two.splices], ["two", []]);
  await end();
});

test("a text area that begins while this tab takes the lead shows the text, and writes what is typed once that is done", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const text = new FakeText();
  text.become("world");
  text.written = undefined;
  const { area, end } = await showArea(text);
  assert.equal(area.value, "world");
  await type(area, "hello world", 6);
  text.written = "world";
  t.mock.timers.tick(1000);
  assert.deepEqual([area.value, area.selectionStart, text.splices], ["hello world", 6, [[0, 0, "hello "]]]);
  await end();
});

test("a text area whose row is gone shows nothing, keeps nothing that is typed, and says why", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("old"));
  await act(async () => (text.become(""), (text.written = undefined)));
  assert.equal(area.value, "");
  text.refusal = new Error("no row");
  await type(area, "new");
  assert.deepEqual([area.value, onError.mock.calls.map(({ arguments: [error] }) => error)], ["", [text.refusal]]);
  await end();
});

test("what was typed and written stays in the box while this tab takes the lead", async () => {
  const text = new FakeText();
  const { area, render, end } = await showArea(text);
  await act(async () => text.become("world"));
  await type(area, "world!");
  text.written = undefined;
  await render(text);
  assert.equal(area.value, "world!");
  await end();
});

test("what an input method composes is written at once, and is not replaced by what others type until it is done", async () => {
  const text = new FakeText();
  const { area, end } = await showArea(text);
  await act(async () => text.become("a b c"));
  area.setSelectionRange(3, 3);
  await compose(area, "start");
  await type(area, "a bn c", 4);
  assert.deepEqual(text.splices, [[3, 0, "n"]]);
  await act(async () => text.become("0 a bn c"));
  await act(async () => text.become("0 a bn c 9"));
  assert.equal(area.value, "a bn c");
  await type(area, "a b\u4f60 c", 4);
  await type(area, "a b\u4f60\u597d c", 5);
  assert.deepEqual([area.value, text.splices.slice(1)], ["a b\u4f60\u597d c", [[5, 1, "\u4f60"], [6, 0, "\u597d"]]]);
  await compose(area, "end");
  assert.deepEqual([area.value, area.selectionStart], ["0 a b\u4f60\u597d c 9", 7]);
  await end();
});

test("what an input method composes and cannot be written is told once, and goes when it is done", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await showArea(text, { onError });
  await act(async () => text.become("old"));
  text.refusal = new Error("no row");
  await compose(area, "start");
  await type(area, "oldn");
  assert.equal(area.value, "oldn", "the input method goes on");
  await compose(area, "end");
  assert.deepEqual([area.value, onError.mock.callCount()], ["old", 1]);
  await end();
});

test("a difference is one splice, and cuts no character in two", () => {
  const texts = ["", "a", "aa", "ab", "\u{1fa91}", "\u{1fa90}", "a\u{1fa91}b", "a\u{1fa91}\u{1fa91}b", "\u{1f691}"];
  for (const from of texts) {
    for (const to of texts) {
      for (let caret = 0; caret <= to.length; caret += 1) {
        const found = difference(from, to, caret);
        assert.equal(applied(from, found), to);
        assert.equal(applied(to, inverse(from, found)), from);
        const ends = [from.charAt(found.at), from.charAt(found.at + found.removed), found.inserted.charAt(0)];
        assert.ok(ends.every((unit) => !/^[\udc00-\udfff]/.test(unit)), `${from} to ${to}`);
      }
    }
  }
  assert.deepEqual([0, 2, 3, 5].map((place) => moved(place, { at: 1, removed: 2, inserted: "xyz" })), [0, 4, 4, 6]);
});

test("of two changes at the same time each keeps what the other one inserted, and both lead to one text", () => {
  const [text, own] = ["abcdef", { at: 2, removed: 0, inserted: "me" }];
  for (let at = 0; at <= text.length; at += 1) {
    for (let removed = 0; at + removed <= text.length; removed += 1) {
      const other = { at, removed, inserted: "you" };
      const both = applied(applied(text, other), carried(own, other, "before"));
      assert.ok(/me/.test(both) && /you/.test(both), both);
      if (at >= 2 || at + removed <= 2) {
        assert.equal(applied(applied(text, own), carried(other, own, "behind")), both);
      }
    }
  }
  assert.deepEqual(carried({ at: 1, removed: 1, inserted: "" }, { at: 1, removed: 0, inserted: "x" }, "before"), { at: 2, removed: 1, inserted: "" });
});
