import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { container, event } from "../testing/page.js";

import type { Live, LiveScalar, LiveTables, Reactive } from "@iolite/client";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";

import { CheckBox, IoliteProvider, LiveList, TextBox, useLive } from "../index.js";
import type { RegisteredSchema } from "../register.js";
import { FakeClient } from "../testing/fakeClient.js";
import { tell } from "./onError.js";

/** A binding whose state a test sets by hand, and which keeps what was written. */
class FakeLive<T> implements LiveScalar<T> {
  state: Reactive<T> = { status: "loading", data: undefined, error: undefined };
  readonly written: T[] = [];
  /** Why nothing can be written. */
  refusal: Error | undefined;
  readonly #callbacks = new Set<(state: Reactive<T>) => void>();

  get value(): T | undefined {
    return this.state.data;
  }

  get listeners(): number {
    return this.#callbacks.size;
  }

  become(data: T): void {
    this.state = { status: "ready", data, error: undefined };
    this.#callbacks.forEach((callback) => callback(this.state));
  }

  onChange(callback: (state: Reactive<T>) => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  set(value: T): never {
    if (this.refusal !== undefined) {
      throw this.refusal;
    }
    this.written.push(value);
    return undefined as never;
  }
}

type Tables = LiveTables<RegisteredSchema>;

/** Shows something, and hands over the page that shows it. */
async function show(children: ReactNode, live: unknown = {}) {
  const page = container();
  const root = createRoot(page);
  const client = Object.assign(new FakeClient(), { live });
  const render = (shown: ReactNode) =>
    act(async () => root.render(<IoliteProvider client={client.asClient}>{shown}</IoliteProvider>));
  await render(children);
  return { page, render, end: () => act(async () => root.unmount()) };
}

async function type(page: HTMLElement, text: string): Promise<void> {
  const input = page.querySelector("input");
  assert.ok(input !== null);
  await act(async () => {
    // As React hears of what a user types.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), "value")?.set?.call(input, text);
    input.dispatchEvent(event("input"));
  });
}

test("a text box shows the shared text, and writes what is typed", async () => {
  const title = new FakeLive<string>();
  const { page, end } = await show(<TextBox bind={() => title} />);
  const input = page.querySelector("input");
  assert.ok(input?.disabled, "while the text is on its way");
  await act(async () => title.become("old"));
  assert.deepEqual([input.value, input.disabled], ["old", false]);
  await type(page, "old!");
  assert.deepEqual([input.value, title.written], ["old!", ["old!"]]);
  await act(async () => title.become("old!"));
  await act(async () => title.become("somebody else's"));
  assert.equal(input.value, "somebody else's");
  await end();
  assert.equal(title.listeners, 0);
});

test("what is typed stays until the shared text is that, or the box is left", async () => {
  const title = new FakeLive<string>();
  const { page, end } = await show(<TextBox bind={() => title} />);
  await act(async () => title.become(""));
  const input = page.querySelector("input");
  await type(page, "a");
  await type(page, "ab");
  await act(async () => title.become("a"));
  assert.equal(input?.value, "ab", "the first write shows before the second");
  await act(async () => input?.dispatchEvent(event("focusout")));
  assert.equal(input?.value, "a");
  await end();
});

test("a check box shows and sets", async () => {
  const done = new FakeLive<boolean>();
  const { page, end } = await show(<CheckBox bind={() => done} />);
  await act(async () => done.become(false));
  const input = page.querySelector("input");
  await act(async () => input?.click());
  assert.deepEqual(done.written, [true]);
  await act(async () => done.become(true));
  assert.equal(input?.checked, true);
  await end();
});

test("what a text box or a check box cannot write is told, and neither shows it", async () => {
  const [title, done, onError] = [new FakeLive<string>(), new FakeLive<boolean>(), mock.fn()];
  const { page, end } = await show([
    <TextBox key="title" bind={() => title} onError={onError} />,
    <CheckBox key="done" bind={() => done} onError={onError} />,
  ]);
  await act(async () => (title.become("short"), done.become(false)));
  [title.refusal, done.refusal] = [new Error("too long"), new Error("closed")];
  await type(page, "longer");
  const [text, box] = page.querySelectorAll("input");
  await act(async () => box?.click());
  assert.deepEqual(onError.mock.calls.map(({ arguments: [error] }) => error), [title.refusal, done.refusal]);
  assert.deepEqual([text?.value, box?.checked], ["short", false]);
  await end();
});

test("what cannot be written, and nobody wants to hear, is an error of the page", (t) => {
  const later = t.mock.method(globalThis, "queueMicrotask", () => undefined);
  tell(undefined, () => {
    throw new Error("too long");
  });
  assert.throws(later.mock.calls[0]?.arguments[0] as () => void, /too long/);
});

test("a list shows its elements, or that there are none, or that they are on their way", async () => {
  const list = new FakeLive<readonly string[]>();
  const { page, end } = await show(
    <LiveList bind={() => list as Live<readonly string[]>} loading="wait" empty="nothing">
      {(element, index) => <i>{`${index}:${element} `}</i>}
    </LiveList>,
  );
  assert.equal(page.textContent, "wait");
  await act(async () => list.become([]));
  assert.equal(page.textContent, "nothing");
  await act(async () => list.become(["a", "b"]));
  assert.equal(page.textContent, "0:a 1:b ");
  await end();
});

test("a list shows its newest element first when that is asked for", async () => {
  const list = new FakeLive<readonly string[]>();
  const { page, end } = await show(
    <LiveList newestFirst bind={() => list as Live<readonly string[]>}>
      {(element, index) => <i>{`${index}:${element} `}</i>}
    </LiveList>,
  );
  await act(async () => list.become(["a", "b"]));
  await act(async () => list.become(["a", "b", "c"]));
  assert.equal(page.textContent, "2:c 1:b 0:a ");
  await end();
});

test("useLive binds again when what it is bound to is another one", async () => {
  const bound = new Map<number, FakeLive<string>>();
  const title = (id: number): FakeLive<string> => {
    const live = bound.get(id) ?? new FakeLive<string>();
    bound.set(id, live);
    return live;
  };
  const seen: (string | undefined)[] = [];
  function Show({ id }: { id: number }) {
    const bind = (live: Tables) => (live as unknown as { title: typeof title }).title(id);
    seen.push(useLive<string, FakeLive<string>>(bind, [id]).data);
    return null;
  }
  const { render, end } = await show(<Show id={1} />, { title });
  await act(async () => title(1).become("one"));
  await render(<Show id={2} />);
  await act(async () => title(2).become("two"));
  assert.deepEqual([seen.includes("one"), seen.at(-1)], [true, "two"]);
  assert.deepEqual([title(1).listeners, title(2).listeners], [0, 1]);
  await end();
});
