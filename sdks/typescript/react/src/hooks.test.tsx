import assert from "node:assert/strict";
import { test } from "node:test";

import { container } from "./testing/page.js";

import type { Reactive, View } from "@iolite/client";
import { act, type ReactNode, StrictMode } from "react";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

import {
  IoliteProvider,
  useClient,
  useConnectionState,
  useMutation,
  usePending,
  useReactive,
  type ReactiveResult,
  useRefused,
  useUnconfirmed,
} from "./index.js";
import { ReactiveStore } from "./reactiveStore.js";
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

const ready = (data: unknown) => ({ status: "ready", data, error: undefined }) as const;

/** Shows one observation of a key, and keeps what it saw. */
function observer() {
  const seen: ReactiveResult<unknown>[] = [];
  function Show({ id }: { id: number }) {
    seen.push(useReactive(() => id as unknown, [id], { view: "confirmed" }));
    return null;
  }
  return { seen, Show };
}

test("data is kept for other deps while theirs is on its way, if that is asked for", async () => {
  const client = new FakeClient();
  const seen: ReactiveResult<unknown>[][] = [];
  function Show({ id, keepData = true, view = "optimistic" }: { id: number; keepData?: boolean; view?: View }) {
    const closure = () => id as unknown;
    seen.push([useReactive(closure, [id], { view }), useReactive(closure, [id], { view, keepData })]);
    return null;
  }
  const running = () => client.observations.filter(({ stopped }) => !stopped);
  const become = (state: Reactive<unknown>) => act(async () => running().forEach((each) => each.become(state)));
  const shown = () => seen.at(-1)?.map(({ data, isLoading }) => [data, isLoading]);
  const root = await render(client, <Show id={1} />);
  assert.deepEqual(shown(), [[undefined, true], [undefined, true]], "nothing was there before");
  await become(ready(["a"]));
  const show = async (next: ReactNode): Promise<void> => {
    client.observations.length = 0;
    await render(client, next, root);
  };
  await show(<Show id={2} />);
  assert.deepEqual(shown(), [[undefined, true], [["a"], true]]);
  const [, kept] = seen.at(-1) ?? [];
  await render(client, <Show id={2} />, root);
  assert.equal(seen.at(-1)?.[1], kept, "the same object while nothing changes");
  await become({ status: "unavailable", data: undefined, error: undefined });
  assert.deepEqual(seen.at(-1)?.map(({ data, isUnavailable }) => [data, isUnavailable]), [[undefined, true], [["a"], true]]);
  await become(ready(undefined));
  assert.deepEqual(shown(), [[undefined, false], [undefined, false]], "that there is no such row is an answer");
  // What was shown while nothing was to be kept is what is kept then.
  await show(<Show id={3} keepData={false} />);
  assert.deepEqual(shown(), [[undefined, true], [undefined, true]]);
  await become(ready(["c"]));
  await show(<Show id={4} />);
  assert.deepEqual(shown(), [[undefined, true], [["c"], true]]);
  await show(<Show id={4} view="confirmed" />);
  assert.deepEqual(shown(), [[undefined, true], [undefined, true]], "of another view nothing is kept");
});

test("deps that are others at every render do not render for ever", async () => {
  const client = new FakeClient();
  client.first = ready(["here"]);
  let renders = 0;
  function Show() {
    renders += 1;
    useReactive(() => 1 as unknown, [{}], { keepData: true });
    return null;
  }
  await render(client, <Show />);
  assert.ok(renders < 10, `${renders} renders`);
});

test("useReactive shows each state, with the same object while nothing changes", async () => {
  const client = new FakeClient();
  const { seen, Show } = observer();
  const root = await render(client, <Show id={1} />);
  assert.deepEqual(seen.at(-1), { data: undefined, isLoading: true, isUnavailable: false, error: undefined });
  const current = client.observations.filter(({ stopped }) => !stopped).at(-1);
  assert.equal(current?.view, "confirmed");
  await act(async () => client.observations.forEach((each) => each.become(ready(["a"]))));
  assert.deepEqual(seen.at(-1), { data: ["a"], isLoading: false, isUnavailable: false, error: undefined });
  const before = seen.at(-1);
  await render(client, <Show id={1} />, root);
  assert.equal(seen.at(-1), before);
  const error = new Error("no");
  await act(async () => client.observations.forEach((each) => each.become({ status: "failed", data: ["a"], error })));
  assert.equal(seen.at(-1)?.error, error);
  await act(async () => client.observations.forEach((each) => each.become({ status: "unavailable", data: ["a"], error: undefined })));
  assert.deepEqual([seen.at(-1)?.isUnavailable, seen.at(-1)?.data], [true, ["a"]]);
  await act(async () => root.unmount());
});

test("useReactive shows data that is there at the first render", async () => {
  const client = new FakeClient();
  const observe = client.observe.bind(client);
  client.observe = (...args) => {
    const observation = observe(...args);
    observation.state = ready("cached");
    return observation;
  };
  const { seen, Show } = observer();
  const root = await render(client, <Show id={1} />);
  assert.equal(seen[0]?.data, "cached");
  await act(async () => root.unmount());
});

test("useReactive shows on a server, and while its page is taken over, that data is on its way", async () => {
  const begun = (state: Reactive<unknown>): FakeClient => {
    const client = new FakeClient();
    const observe = client.observe.bind(client);
    client.observe = (...args) => Object.assign(observe(...args), { state });
    return client;
  };
  function Show() {
    const { data, isLoading } = useReactive(() => "any" as unknown, []);
    return <p>{isLoading ? "loading" : String(data)}</p>;
  }
  const page = (client: FakeClient): ReactNode => <IoliteProvider client={client.asClient}><Show /></IoliteProvider>;
  const place = container();
  place.innerHTML = renderToString(page(begun({ status: "loading", data: undefined, error: undefined })));
  assert.equal(place.textContent, "loading");
  const errors: unknown[] = [];
  const root = await act(async () =>
    hydrateRoot(place, page(begun(ready("cached"))), { onRecoverableError: (error) => errors.push(error) }),
  );
  assert.deepEqual([place.textContent, errors], ["cached", []]);
  await act(async () => root.unmount());
});

test("useReactive begins anew when its deps change, and never shows the data of others", async () => {
  const client = new FakeClient();
  const { seen, Show } = observer();
  const root = await render(client, <Show id={1} />);
  await act(async () => client.observations.forEach((each) => each.become(ready(each.run()))));
  assert.equal(seen.at(-1)?.data, 1);
  const shown = seen.length;
  await render(client, <Show id={2} />, root);
  assert.deepEqual(seen.slice(shown).map(({ data }) => data).filter((data) => data === 1), []);
  await act(async () => client.observations.forEach((each) => each.become(ready(each.run()))));
  assert.equal(seen.at(-1)?.data, 2);
  await act(async () => root.unmount());
});

test("useUnconfirmed tells a row whose pending changes are not confirmed", async () => {
  const client = new FakeClient();
  const seen: boolean[] = [];
  function Show() {
    seen.push(useUnconfirmed(() => "any" as unknown, []));
    return null;
  }
  const root = await render(client, <Show />);
  const become = (view: View, state: Reactive<unknown>): Promise<void> =>
    act(async () => client.observations.filter((each) => each.view === view).forEach((each) => each.become(state)));
  assert.equal(seen.at(-1), false, "nothing is shown yet");
  await become("optimistic", ready({ title: "made here" }));
  await become("confirmed", { status: "unavailable", data: undefined, error: undefined });
  assert.equal(seen.at(-1), true, "the server has not said anything of it");
  await become("confirmed", ready({ title: "before" }));
  assert.equal(seen.at(-1), true);
  await become("confirmed", ready({ title: "made here" }));
  assert.equal(seen.at(-1), false);
  await become("optimistic", ready(undefined));
  assert.equal(seen.at(-1), true, "it is deleted here only");
  await become("confirmed", ready(undefined));
  assert.equal(seen.at(-1), false);
  await act(async () => root.unmount());
});

test("useReactive ends what is not shown any more, in StrictMode too, and keeps what is", async (context) => {
  const client = new FakeClient();
  const { Show } = observer();
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const root = await render(client, <Show id={1} />);
  context.mock.timers.tick(ReactiveStore.idleMs);
  const running = (): number => client.observations.filter(({ stopped }) => !stopped).length;
  assert.equal(running(), 1);
  await act(async () => root.unmount());
  context.mock.timers.tick(ReactiveStore.idleMs);
  assert.equal(running(), 0);
});

test("the other hooks follow the client", async () => {
  const client = new FakeClient();
  const seen: unknown[] = [];
  function Show() {
    const move = useMutation("move" as never) as unknown as () => string;
    seen.push([useConnectionState(), usePending(), useRefused(), move(), useClient() === client.asClient]);
    return null;
  }
  const root = await render(client, <Show />);
  assert.deepEqual(seen.at(-1), [{ status: "offline" }, [], [], "moved", true]);
  await act(async () => client.change({ connection: { status: "online" }, pending: [1], refused: [2] }));
  assert.deepEqual(seen.at(-1), [{ status: "online" }, [1], [2], "moved", true]);
  await act(async () => root.unmount());
});

test("a hook without a provider says what is missing", async () => {
  const { Show } = observer();
  const root = createRoot(container(), { onUncaughtError: () => undefined });
  await assert.rejects(async () => {
    await act(async () => root.render(<Show id={1} />));
  }, /no IoliteProvider/);
});
