import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { container } from "./testing/page.js";

import { act, type ReactNode, Suspense, use } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToPipeableStream, renderToString } from "react-dom/server";

import {
  CheckBox,
  IoliteProvider,
  LiveList,
  TextArea,
  TextBox,
  useClient,
  useConnectionState,
  useDifference,
  useLive,
  useLog,
  useMutation,
  usePending,
  useReactive,
  useRefused,
  useUnconfirmed,
  useView,
} from "./index.js";
import { FakeClient } from "./testing/fakeClient.js";
import { FakeLive, FakeText } from "./testing/fakeLive.js";

interface Tables {
  note(): { readonly title: FakeLive<string>; readonly body: FakeText; readonly done: FakeLive<boolean>; readonly tags: { slice(from: number): FakeLive<string[]> } };
}

const cell = <T,>(choose: (tables: Tables) => T) => ((tables: unknown) => choose(tables as Tables)) as never;
const title = cell((live) => live.note().title);

const LOG = {} as never;

/** Everything that a component can ask of a client, as text. */
const HOOKS: Record<string, () => ReactNode> = {
  useConnectionState: () => Object.values(useConnectionState()).join(),
  usePending: () => String(usePending().length),
  useRefused: () => String(useRefused().length),
  useReactive: () => JSON.stringify(useReactive(() => "any" as unknown, [])),
  useLive: () => JSON.stringify({ ...useLive(title, []), live: undefined }),
  useUnconfirmed: () => String(useUnconfirmed(() => "any" as unknown, [])),
  useView: () => JSON.stringify(useView(() => "any" as unknown)),
  useDifference: () => JSON.stringify(useDifference("optimistic", "confirmed")),
  useLog: () => typeof useLog(LOG, 1 as never).log,
  useMutation: () => typeof useMutation("move" as never),
  TextBox: () => <TextBox bind={title} />,
  TextArea: () => <TextArea bind={cell((live) => live.note().body)} />,
  CheckBox: () => <CheckBox bind={cell((live) => live.note().done)} />,
  LiveList: () => (
    <LiveList bind={cell((live) => live.note().tags.slice(-2))} loading="wait" empty="nothing">
      {(element) => <i>{String(element)}</i>}
    </LiveList>
  ),
};

function Show({ hook }: { hook: string }) {
  return <p>{HOOKS[hook]?.()}</p>;
}

function shown(hook: string, client: FakeClient | undefined): ReactNode {
  return (
    <IoliteProvider client={client?.asClient}>
      <Show hook={hook} />
    </IoliteProvider>
  );
}

/** A client in some state, with data that is here. */
function clientThat(says: "much" | "little"): FakeClient {
  const [title, body, done, tags] = [new FakeLive<string>(), new FakeText(), new FakeLive<boolean>(), new FakeLive<string[]>()];
  const live = { note: () => ({ title, body, done, tags: { slice: () => tags } }) };
  const client = Object.assign(new FakeClient(), { live });
  if (says === "much") {
    client.first = { status: "ready", data: "here", error: undefined };
    client.change({ connection: { status: "online" }, pending: [1], refused: [1, 2] });
    client.differing = [{ table: "notes", key: 1, column: "title" }];
    [title.become("title"), body.become("body"), done.become(true), tags.become(["a"])];
  }
  return client;
}

/** Takes over what a server rendered, and returns what shows then, at first and in the end. */
async function takenOver(html: string, page: ReactNode) {
  const place = container();
  place.innerHTML = html;
  const errors: string[] = [];
  const root = await act(async () =>
    hydrateRoot(place, page, { onRecoverableError: (error) => errors.push((error as Error).message) }),
  );
  const result = { after: looks(place), errors };
  await act(async () => root.unmount());
  return result;
}

/** The look of a page: its text, or its boxes. */
function looks(place: HTMLElement): unknown {
  const boxes = [...place.querySelectorAll<HTMLInputElement>("input, textarea")];
  return boxes.length > 0 ? boxes.map(({ value, checked, disabled }) => [value, checked, disabled]) : place.textContent;
}

/** How a page looks that no server rendered. */
async function drawn(page: ReactNode): Promise<unknown> {
  const place = container();
  const root = createRoot(place);
  await act(async () => root.render(page));
  const look = looks(place);
  await act(async () => root.unmount());
  return look;
}

for (const hook of Object.keys(HOOKS)) {
  test(`${hook} renders on every server what a page takes over, and then the truth`, async () => {
    const rendered = [undefined, clientThat("little"), clientThat("much")].map((client) => renderToString(shown(hook, client)));
    assert.equal(new Set(rendered).size, 1, rendered.join("\n"));
    const [html = ""] = rendered;
    for (const says of ["little", "much"] as const) {
      const { after, errors } = await takenOver(html, shown(hook, clientThat(says)));
      assert.deepEqual([errors, after], [[], await drawn(shown(hook, clientThat(says)))]);
    }
  });

  test(`${hook} shows that data is on its way until there is a client, and then that one's, and another one's`, async () => {
    const place = container();
    const root = createRoot(place);
    for (const client of [undefined, clientThat("much"), clientThat("little"), undefined]) {
      await act(async () => root.render(shown(hook, client)));
      assert.deepEqual(looks(place), await drawn(shown(hook, client)));
    }
    await act(async () => root.unmount());
  });
}

test("on a server nothing is observed, and nothing called", async () => {
  const client = clientThat("much");
  Object.keys(HOOKS).forEach((hook) => renderToString(shown(hook, client)));
  assert.deepEqual([client.observations, client.peeked, client.logs.size, client.listeners], [[], [], 0, 0]);
});

test("a page that a server streams is taken over part by part", async () => {
  let come: (value: string) => void = () => undefined;
  const late = new Promise<string>((resolve) => (come = resolve));
  function Late() {
    return (
      <>
        {use(late)}
        {Object.keys(HOOKS).map((hook) => (
          <Show key={hook} hook={hook} />
        ))}
      </>
    );
  }
  const page = (client: FakeClient | undefined): ReactNode => (
    <IoliteProvider client={client?.asClient}>
      <Show hook="useConnectionState" />
      <Suspense fallback="waits">
        <Late />
      </Suspense>
      <Show hook="useReactive" />
    </IoliteProvider>
  );
  // The scripts of a stream, which put a late part into its place, do not run here: the page is taken over when all parts are there.
  const html = await new Promise<string>((resolve, reject) => {
    const { pipe } = renderToPipeableStream(page(clientThat("little")), {
      onShellReady: () => come("late"),
      onAllReady: () => void text(pipe(new PassThrough())).then(resolve, reject),
      onError: reject,
    });
  });
  assert.match(html, /offline[\s\S]*late/);
  const place = container();
  place.innerHTML = html;
  const errors: unknown[] = [];
  const root = await act(async () => hydrateRoot(place, page(clientThat("much")), { onRecoverableError: (error) => errors.push(error) }));
  assert.deepEqual(errors, []);
  assert.match(place.textContent ?? "", /online[\s\S]*late[\s\S]*here/);
  await act(async () => root.unmount());
});

test("without a client a write is an error of its caller, and none is lost without a word", async () => {
  const said = /no client/;
  function Calls({ call }: { call: string }) {
    const move = useMutation("move" as never) as unknown as () => void;
    const { live } = useLive<string, FakeLive<string>>(title, []);
    const calls: Record<string, () => unknown> = { move, live: () => live.set("x"), client: useClientOf };
    assert.throws(() => calls[call]?.(), said);
    return null;
  }
  // A hook, called where it is rendered.
  const useClientOf = (): unknown => useClient();
  for (const call of ["move", "live", "client"]) {
    renderToString(
      <IoliteProvider client={undefined}>
        <Calls call={call} />
      </IoliteProvider>,
    );
  }
});

test("a server's process ends when it has rendered, also where a component was shown in it", async () => {
  const script = `
    import { createElement as h } from "react";
    import { renderToString } from "react-dom/server";
    import { IoliteProvider, useReactive } from "${new URL("./index.js", import.meta.url).href}";
    import { ReactiveStore } from "${new URL("./reactiveStore.js", import.meta.url).href}";
    const observation = { state: { status: "loading" }, onChange: () => () => {}, stop: () => {} };
    const client = { observe: () => observation };
    const Show = () => JSON.stringify(useReactive(() => 1, []));
    process.stdout.write(renderToString(h(IoliteProvider, { client }, h(Show))));
    ReactiveStore.idleMs = 3600000;
    new ReactiveStore(() => observation).current();
  `;
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { cwd, timeout: 20_000 });
  assert.match(stdout, /isLoading/);
});
