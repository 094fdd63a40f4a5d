import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { container, event } from "../testing/page.js";

import type { LiveText, Reactive } from "@iolite/client";
import { act } from "react";
import { createRoot } from "react-dom/client";

import { IoliteProvider, TextArea, type TextAreaProps } from "../index.js";
import { FakeClient } from "../testing/fakeClient.js";
import { difference, moved } from "./difference.js";

/** A text that a test changes as others do. */
class FakeText implements LiveText {
  written: string | undefined;
  state: Reactive<string> = { status: "loading", data: undefined, error: undefined };
  readonly splices: [number, number, string][] = [];
  /** Why nothing can be written. */
  refusal: Error | undefined;
  readonly #callbacks = new Set<(state: Reactive<string>) => void>();

  get value(): string | undefined {
    return this.state.data;
  }

  become(text: string): void {
    this.written = text;
    this.state = { status: "ready", data: text, error: undefined };
    this.#callbacks.forEach((callback) => callback(this.state));
  }

  onChange(callback: (state: Reactive<string>) => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  insert(at: number, text: string): never {
    return this.splice(at, 0, text);
  }

  remove(at: number, length: number): never {
    return this.splice(at, length, "");
  }

  splice(at: number, removed: number, text: string): never {
    if (this.refusal !== undefined) {
      throw this.refusal;
    }
    this.splices.push([at, removed, text]);
    const own = this.written ?? "";
    this.written = own.slice(0, at) + text + own.slice(at + removed);
    return undefined as never;
  }
}

async function show(text: FakeText, props: Partial<TextAreaProps> = {}) {
  const page = container();
  const root = createRoot(page);
  const client = new FakeClient();
  const render = (shown: FakeText) =>
    act(async () =>
      root.render(<IoliteProvider client={client.asClient}>{<TextArea {...props} bind={() => shown} deps={[shown]} />}</IoliteProvider>),
    );
  await render(text);
  const area = page.querySelector("textarea");
  assert.ok(area !== null);
  return { area, render, end: () => act(async () => root.unmount()) };
}

async function type(area: HTMLTextAreaElement, value: string, caret: number): Promise<void> {
  await act(async () => {
    area.value = value;
    area.setSelectionRange(caret, caret);
    area.dispatchEvent(event("input"));
  });
}

test("a text area writes what was typed as a splice at the caret", async () => {
  const text = new FakeText();
  const { area, end } = await show(text);
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
  const { area, end } = await show(text);
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
  const { area, end } = await show(text);
  await act(async () => text.become("world"));
  text.written = "hello world";
  await type(area, "world!", 6);
  assert.deepEqual([text.splices, text.written, area.value, area.selectionStart], [[[11, 0, "!"]], "hello world!", "hello world!", 12]);
  await end();
});

test("what is typed while nobody knows the text stays in the box, and is written once somebody does", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const text = new FakeText();
  const { area, end } = await show(text);
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

test("what was typed into one text is written into no other", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [text, other] = [new FakeText(), new FakeText()];
  const { area, render, end } = await show(text);
  await act(async () => text.become("one"));
  text.written = undefined;
  await type(area, "one!", 4);
  await render(other);
  await act(async () => other.become("another"));
  text.written = "one";
  t.mock.timers.tick(1000);
  assert.deepEqual([area.value, text.splices, other.splices], ["another", [], []]);
  await end();
});

test("what cannot be written is told, and the box shows the text without it", async () => {
  const [text, onError] = [new FakeText(), mock.fn()];
  const { area, end } = await show(text, { onError });
  await act(async () => text.become("stored"));
  text.refusal = new Error("too large");
  await type(area, "stored and more", 15);
  assert.deepEqual([area.value, area.selectionStart, onError.mock.calls.map(({ arguments: [error] }) => error)], ["stored", 6, [text.refusal]]);
  text.refusal = undefined;
  await type(area, "stored.", 7);
  assert.deepEqual(text.splices, [[6, 0, "."]]);
  await end();
});

test("a difference is one splice, and cuts no character in two", () => {
  const applied = (from: string, { at, removed, inserted }: ReturnType<typeof difference>) => from.slice(0, at) + inserted + from.slice(at + removed);
  const texts = ["", "a", "aa", "ab", "\u{1fa91}", "\u{1fa90}", "a\u{1fa91}b", "a\u{1fa91}\u{1fa91}b", "\u{1f691}"];
  for (const from of texts) {
    for (const to of texts) {
      for (let caret = 0; caret <= to.length; caret += 1) {
        const found = difference(from, to, caret);
        assert.equal(applied(from, found), to);
        const ends = [from.charAt(found.at), from.charAt(found.at + found.removed), found.inserted.charAt(0)];
        assert.ok(ends.every((unit) => !/^[\udc00-\udfff]/.test(unit)), `${from} to ${to}`);
      }
    }
  }
  assert.deepEqual([0, 2, 3, 5].map((place) => moved(place, { at: 1, removed: 2, inserted: "xyz" })), [0, 4, 4, 6]);
});
