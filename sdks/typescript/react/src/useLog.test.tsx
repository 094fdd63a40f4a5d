import assert from "node:assert/strict";
import { test } from "node:test";

import { container } from "./testing/page.js";

import { defineLog, IoliteError, s, table } from "@iolite/client";
import { act, type ReactNode, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

import { IoliteProvider, type LogOptions, type LogResult, useLog } from "./index.js";
import { FakeClient } from "./testing/fakeClient.js";

const sheet = defineLog("sheet", { cells: table({ sheet: s.string(), at: s.string() }).key("sheet", "at") }, {});

async function render(client: FakeClient, children: ReactNode, root: Root = createRoot(container())): Promise<Root> {
  await act(async () => {
    root.render(
      <StrictMode>
        <IoliteProvider client={client.asClient}>{children}</IoliteProvider>
      </StrictMode>,
    );
  });
  return root;
}

/** Shows a log, and keeps each result that was rendered. */
function viewer(options: LogOptions = {}) {
  const seen: (LogResult<unknown> & { readonly at: string })[] = [];
  function Show({ at = "budget" }: { at?: string }) {
    const result = useLog(sheet, at, options);
    seen.push({ ...result, at });
    return null;
  }
  return { seen, Show };
}

test("useLog joins when it is shown, goes on to another instance, and leaves none", async () => {
  const client = new FakeClient();
  const { seen, Show } = viewer();
  const root = await render(client, <Show />);
  assert.deepEqual([seen[0]?.log, seen[0]?.error], [undefined, undefined]);
  assert.equal(seen.at(-1)?.log, client.logs.get("budget"));
  await render(client, <Show at="plans" />, root);
  assert.equal(seen.at(-1)?.log, client.logs.get("plans"));
  const mixed = seen.filter(({ log, at }) => log !== undefined && log !== (client.logs.get(at) as unknown));
  assert.deepEqual(mixed, [], "never the log of another instance");
  await act(async () => root.unmount());
  const logs = [...client.logs.values()];
  assert.deepEqual(logs.map(({ left, listeners }) => [left, listeners]), [[0, 0], [0, 0]]);
  assert.equal(client.listeners, 0);
});

test("useLog says that nothing more is replayed, also of a log that stood still before", async () => {
  const client = new FakeClient();
  const { seen, Show } = viewer();
  const root = await render(client, <Show />);
  await act(async () => client.logs.get("budget")?.stop("no operation \"shade\""));
  assert.equal(seen.at(-1)?.stopped, "no operation \"shade\"");
  assert.equal(seen.at(-1)?.log, client.logs.get("budget"));
  await act(async () => root.unmount());
  const again = viewer();
  const other = await render(client, <again.Show />);
  assert.equal(again.seen.at(-1)?.stopped, "no operation \"shade\"");
  await act(async () => other.unmount());
});

test("useLog tells why a tab that follows cannot join, and joins when it leads", async () => {
  const client = new FakeClient();
  client.follows = true;
  const { seen, Show } = viewer();
  const root = await render(client, <Show />);
  assert.equal((seen.at(-1)?.error as IoliteError).code, "not-leading");
  client.follows = false;
  await act(async () => client.change({ connection: { status: "online", role: "leader" } }));
  assert.equal(seen.at(-1)?.log, client.logs.get("budget"));
  assert.equal(seen.at(-1)?.error, undefined);
  const renders = seen.length;
  await act(async () => client.change({ connection: { status: "offline", role: "leader" } }));
  assert.equal(seen.length, renders, "it is joined once");
  await act(async () => root.unmount());
});

test("useLog leaves when it is asked to, unless operations are pending", async () => {
  const client = new FakeClient();
  const { Show } = viewer({ leaveOnUnmount: true });
  const root = await render(client, <Show />);
  const left = client.logs.get("budget")?.left ?? 0;
  await act(async () => root.unmount());
  assert.equal(client.logs.get("budget")?.left, left + 1);
  const busy = await render(client, <Show at="busy" />);
  const log = client.logs.get("busy");
  assert.ok(log);
  log.pending = new IoliteError("call", "1 operations of the log are pending here");
  const before = log.left;
  await act(async () => busy.unmount());
  assert.equal(log.left, before);
});

test("useLog joins nothing on a server", () => {
  const client = new FakeClient();
  const { seen, Show } = viewer();
  renderToString(<IoliteProvider client={client.asClient}><Show /></IoliteProvider>);
  assert.deepEqual([seen.map(({ log }) => log), client.logs.size], [[undefined], 0]);
});
