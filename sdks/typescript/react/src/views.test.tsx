import assert from "node:assert/strict";
import { test } from "node:test";

import { container } from "./testing/page.js";

import { type Difference, IoliteError, type View } from "@iolite/client";
import { act, type ReactNode, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

import { type HeldResult, IoliteProvider, useDifference, useView } from "./index.js";
import { FakeClient } from "./testing/fakeClient.js";

async function render(client: FakeClient, children: ReactNode, root: Root = createRoot(container())): Promise<Root> {
  await act(async () => {
    root.render(
      <StrictMode>
        <IoliteProvider client={client.asClient}>{children}</IoliteProvider>
      </StrictMode>,
    );
    await Promise.resolve();
  });
  return root;
}

const notHeld = (): never => {
  throw new IoliteError("not-held", "it is not held");
};

/** Shows what a view answers, and keeps each answer that was rendered. */
function viewer(view: View = "delivered") {
  const seen: HeldResult<unknown>[] = [];
  function Show({ id = 1 }: { id?: number }) {
    seen.push(useView((tx) => (tx as unknown as { read: (id: number) => unknown }).read(id), { view }));
    return null;
  }
  return { seen, Show };
}

test("useView shows what is held at the first render, and again only when the answer is another", async () => {
  const client = new FakeClient();
  client.held = { read: (id: number) => ({ id, tags: ["a"] }) };
  const { seen, Show } = viewer();
  const root = await render(client, <Show />);
  assert.deepEqual(seen[0], { data: { id: 1, tags: ["a"] }, isHeld: true, error: undefined });
  assert.equal(client.peeked.at(-1), "delivered");
  const renders = seen.length;
  await act(async () => client.viewsChange());
  assert.equal(seen.length, renders, "the answer is the same");
  await act(async () => client.viewsChange({ read: (id: number) => ({ id, tags: ["b"] }) }));
  assert.deepEqual(seen.at(-1)?.data, { id: 1, tags: ["b"] });
  const before = seen.at(-1);
  await render(client, <Show />, root);
  assert.equal(seen.at(-1), before, "the same object while it shows the same");
  await render(client, <Show id={2} />, root);
  assert.deepEqual(seen.at(-1)?.data, { id: 2, tags: ["b"] }, "what the closure uses from outside counts");
  await act(async () => root.unmount());
  await act(async () => client.viewsChange({ read: notHeld }));
  assert.equal(client.listeners, 0);
});

test("useView says what is not held, and what went wrong", async () => {
  const client = new FakeClient();
  client.held = { read: notHeld };
  const { seen, Show } = viewer();
  const root = await render(client, <Show />);
  assert.deepEqual(seen.at(-1), { data: undefined, isHeld: false, error: undefined });
  await act(async () => client.viewsChange({ read: () => undefined }));
  assert.deepEqual(seen.at(-1), { data: undefined, isHeld: true, error: undefined });
  await act(async () => client.viewsChange({ read: () => assert.fail("my mistake") }));
  assert.equal(seen.at(-1)?.error?.message, "my mistake");
  const renders = seen.length;
  await act(async () => client.viewsChange());
  assert.equal(seen.length, renders, "the same mistake");
  await act(async () => root.unmount());
});

test("useView shows on a server that nothing is held", () => {
  const client = new FakeClient();
  client.held = { read: () => "here" };
  const { seen, Show } = viewer();
  renderToString(<IoliteProvider client={client.asClient}><Show /></IoliteProvider>);
  assert.deepEqual(seen, [{ data: undefined, isHeld: false, error: undefined }]);
});

test("useDifference shows which values differ, and the same list while they do", async () => {
  const client = new FakeClient();
  const seen: HeldResult<readonly unknown[]>[] = [];
  function Show() {
    seen.push(useDifference("optimistic", "delivered", { table: "items" as never }));
    return null;
  }
  const root = await render(client, <Show />);
  assert.deepEqual(seen.at(-1), { data: [], isHeld: true, error: undefined });
  assert.deepEqual(client.compared.at(-1), ["optimistic", "delivered", "items"]);
  const moved: Difference = { table: "items", key: ["hall", "chair"], column: "x" };
  client.differing = [moved];
  await act(async () => client.viewsChange());
  assert.deepEqual(seen.at(-1)?.data, [moved]);
  const renders = seen.length;
  client.differing = [{ ...moved, key: ["hall", "chair"] }];
  await act(async () => client.viewsChange());
  assert.equal(seen.length, renders);
  client.differing = [];
  await act(async () => client.viewsChange());
  assert.deepEqual(seen.at(-1)?.data, []);
  await act(async () => root.unmount());
});
