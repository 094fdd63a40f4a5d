import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { show } from "../testing/show.js";

import type { Live, LiveTables } from "@iolite/client";
import { act } from "react";

import { CheckBox, LiveList, useLive } from "../index.js";
import type { RegisteredSchema } from "../register.js";
import { FakeLive } from "../testing/fakeLive.js";
import { tell } from "./onError.js";

type Tables = LiveTables<RegisteredSchema>;

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

test("what a check box cannot set is told, at once or when it is refused later, and it does not show it", async () => {
  const [done, onError] = [new FakeLive<boolean>(), mock.fn()];
  const { page, end } = await show(<CheckBox bind={() => done} onError={onError} />);
  await act(async () => done.become(false));
  const box = page.querySelector("input");
  await act(async () => box?.click());
  await act(async () => done.handles[0]?.end({ state: "rejected", reason: "no such task" }));
  done.refusal = new Error("closed");
  await act(async () => box?.click());
  assert.deepEqual(onError.mock.calls.map(({ arguments: [error] }) => error.message), ["no such task", "closed"]);
  assert.equal(box?.checked, false);
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

test("a list that grows by a page keeps what it shows until the page is here", async () => {
  const pages = [new FakeLive<readonly string[]>(), new FakeLive<readonly string[]>(), new FakeLive<readonly string[]>()] as const;
  const list = (page: 0 | 1 | 2) => (
    <LiveList keepData bind={() => pages[page] as Live<readonly string[]>} deps={[page]} loading="wait" empty="nothing">
      {(element) => <i>{`${element} `}</i>}
    </LiveList>
  );
  const { page, render, end } = await show(list(0));
  await act(async () => pages[0].become(["a"]));
  await render(list(1));
  assert.equal(page.textContent, "a wait");
  await act(async () => pages[1].become(["b", "a"]));
  assert.equal(page.textContent, "b a ");
  await render(list(0));
  assert.equal(page.textContent, "a ", "what is here is shown at once");
  await act(async () => pages[0].become([]));
  assert.equal(page.textContent, "nothing");
  await render(list(2));
  assert.equal(page.textContent, "wait", "nobody knows yet that there is nothing");
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
