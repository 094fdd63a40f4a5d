import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { event } from "../testing/page.js";
import { compose, show, type } from "../testing/show.js";

import type { SettledStatus } from "@iolite/client";
import { act } from "react";

import { TextArea, TextBox, type TextBoxProps } from "../index.js";
import { FakeLive, FakeText } from "../testing/fakeLive.js";

async function showBox(title: FakeLive<string>, props: Partial<TextBoxProps> = {}) {
  const box = (shown: FakeLive<string>) => <TextBox {...props} bind={() => shown} deps={[shown]} />;
  const { page, render, end } = await show(box(title));
  const input = page.querySelector("input");
  assert.ok(input !== null);
  return { input, render: (shown: FakeLive<string>) => render(box(shown)), end };
}

test("a text box shows the shared text, and writes what is typed", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title);
  assert.ok(input.disabled, "while the text is on its way");
  await act(async () => title.become("old"));
  assert.deepEqual([input.value, input.disabled], ["old", false]);
  await type(input, "old!");
  assert.deepEqual([input.value, title.written], ["old!", ["old!"]]);
  await act(async () => title.become("old!"));
  await act(async () => title.become("somebody else's"));
  assert.equal(input.value, "somebody else's");
  await end();
  assert.equal(title.listeners, 0);
});

test("what is typed stays until the shared text is that, or the box is left", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title);
  await act(async () => title.become(""));
  await type(input, "a");
  await type(input, "ab");
  await act(async () => title.become("a"));
  assert.equal(input.value, "ab", "the first write shows before the second");
  await act(async () => input.dispatchEvent(event("focusout")));
  assert.equal(input.value, "a");
  await end();
});

test("what a text box cannot write is told, and it shows what it did before", async () => {
  const [title, onError] = [new FakeLive<string>(), mock.fn()];
  const { input, end } = await showBox(title, { onError });
  await act(async () => title.become("short"));
  title.refusal = new Error("too long");
  await type(input, "longer");
  assert.deepEqual([input.value, onError.mock.calls.map(({ arguments: [error] }) => error)], ["short", [title.refusal]]);
  await end();
});

for (const [how, status] of [
  ["was rejected", { state: "rejected", reason: "no" }],
  ["can never be accepted", { state: "quarantined", reason: "no" }],
  ["was taken back", { state: "cancelled", reason: "no" }],
] satisfies [string, SettledStatus][]) {
  test(`a text box shows the shared text again when what was typed ${how}, which is told once`, async () => {
    const [title, onError] = [new FakeLive<string>(), mock.fn()];
    const { input, end } = await showBox(title, { onError });
    await act(async () => title.become("old"));
    await type(input, "old!");
    await act(async () => title.handles[0]?.end(status));
    assert.deepEqual([input.value, onError.mock.calls.map(({ arguments: [error] }) => error.message)], ["old", ["no"]]);
    await act(async () => title.become("somebody else's"));
    assert.equal(input.value, "somebody else's");
    assert.equal(onError.mock.callCount(), 1);
    await end();
  });
}

test("a text box shows what was written over the typed text before that was seen", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title);
  await act(async () => title.become("old"));
  await type(input, "mine");
  await act(async () => title.become("theirs"));
  assert.equal(input.value, "mine", "the write is still on its way");
  await act(async () => title.handles[0]?.end({ state: "confirmed" }));
  assert.equal(input.value, "theirs");
  await end();
});

test("a text box into which the shared text itself was typed again follows it on", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title);
  await act(async () => title.become("old"));
  await type(input, "old!");
  await type(input, "old");
  await act(async () => title.handles.forEach((handle) => handle.end({ state: "confirmed" })));
  await act(async () => title.become("new"));
  assert.equal(input.value, "new");
  await end();
});

test("a text box that is bound to another row shows that one's text, and what was typed before goes to the row that it was typed into", async () => {
  const [one, two, onError] = [new FakeLive<string>(), new FakeLive<string>(), mock.fn()];
  const { input, render, end } = await showBox(one, { onError });
  await act(async () => (one.become("one"), two.become("two")));
  await type(input, "one!");
  await render(two);
  assert.deepEqual([input.value, one.written, two.written], ["two", ["one!"], []]);
  await act(async () => one.handles[0]?.end({ state: "rejected", reason: "no" }));
  assert.deepEqual([input.value, onError.mock.callCount()], ["two", 1]);
  const three = new FakeLive<string>();
  await render(three);
  assert.deepEqual([input.value, input.disabled], ["", true], "while it is on its way");
  await end();
});

test("that the client was closed is no refusal of what was typed", async () => {
  const [title, onError] = [new FakeLive<string>(), mock.fn()];
  const { input, end } = await showBox(title, { onError });
  await act(async () => title.become("old"));
  await type(input, "old!");
  await act(async () => title.handles[0]?.giveUp(new Error("closed")));
  assert.equal(onError.mock.callCount(), 0);
  await end();
});

test("what others write moves the caret of a text box with the characters that it stands between", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title);
  await act(async () => title.become("world"));
  input.setSelectionRange(2, 4);
  await act(async () => title.become("hello world"));
  assert.deepEqual([input.value, input.selectionStart, input.selectionEnd], ["hello world", 8, 10]);
  await end();
});

for (const [how, done, shown] of [
  ["the input method is done", "compositionend", "my titlen"],
  ["the box is left", "focusout", "my title"],
] as const) {
  test(`what others write while an input method composes in a text box shows when ${how}, and nothing that was composed is lost`, async () => {
    const title = new FakeLive<string>();
    const { input, end } = await showBox(title);
    await act(async () => title.become("title"));
    await compose(input, "start");
    await act(async () => title.become("my title"));
    await type(input, "titlen");
    assert.deepEqual([input.value, title.written], ["titlen", ["my titlen"]]);
    await act(async () => void input.dispatchEvent(event(done)));
    assert.equal(input.value, shown);
    await act(async () => title.become("my titlen"));
    assert.equal(input.value, "my titlen");
    await end();
  });
}

test("a text box of a type that has no caret works", async () => {
  const title = new FakeLive<string>();
  const { input, end } = await showBox(title, { type: "email" });
  await act(async () => title.become("a@b"));
  await act(async () => {
    input.value = "a@b.c";
    input.dispatchEvent(event("input"));
  });
  await act(async () => title.become("d@e"));
  await act(async () => title.handles[0]?.end({ state: "confirmed" }));
  assert.deepEqual([title.written, input.value], [["a@b.c"], "d@e"]);
  await end();
});

test("a form that is reset, as React does after an action, changes no shared text", async () => {
  const [title, body] = [new FakeLive<string>(), new FakeText()];
  const form = (name: string) => (
    <form>
      <TextBox bind={() => title} name={name} />
      <TextArea bind={() => body} name={name} />
    </form>
  );
  const { page, render, end } = await show(form("first"));
  await act(async () => (title.become("old"), body.become("old")));
  await render(form("second"));
  const boxes = (): (string | undefined)[] => [page.querySelector("input")?.value, page.querySelector("textarea")?.value];
  await act(async () => page.querySelector("form")?.reset());
  assert.deepEqual(boxes(), ["old", "old"]);
  await act(async () => (title.become("new"), body.become("new")));
  assert.deepEqual([boxes(), title.written, body.splices], [["new", "new"], [], []]);
  await end();
});
