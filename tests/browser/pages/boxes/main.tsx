/** A page of boxes for tests: bound ones, and one that React controls. Its client is `db` for the tests. */

import { type ClientOf, createClient, defineMutators, defineSchema, developmentServer, mutator, s, table } from "@iolite/client";
import { CheckBox, IoliteProvider, TextArea, TextBox, useMutation, useReactive } from "@iolite/react";
import { createRoot } from "react-dom/client";

const schema = defineSchema({
  notes: table({ id: s.int(), title: s.string(), body: s.text(), done: s.bool() }),
  cents: table({ id: s.int(), amount: s.int() }),
});

const mutators = defineMutators(schema, {
  note: mutator((tx, { title, body }: { title: string; body: string }) => tx.notes.insert({ id: 1, title, body, done: false })),
  rename: mutator((tx, { title }: { title: string }) => tx.notes.update(1, { title })),
  fill: mutator((tx, { from, count }: { from: number; count: number }) => {
    for (let id = from; id < from + count; id += 1) {
      tx.cents.insert({ id, amount: 1 });
    }
  }),
  put: mutator((tx, { id, amount }: { id: number; amount: number }) => tx.cents.update(id, { amount })),
});

type AppClient = ClientOf<typeof mutators>;

declare module "@iolite/react" {
  interface Register {
    client: AppClient;
  }
}

declare global {
  var db: AppClient;
}

/** Text that a component controls: each letter goes through a mutator and comes back. */
function Controlled() {
  const { data: title } = useReactive((tx) => tx.notes.get(1)?.title, []);
  const rename = useMutation("rename");
  return <input id="controlled" value={title ?? ""} onChange={({ target }) => rename({ title: target.value })} />;
}

function Boxes() {
  const { data: note } = useReactive((tx) => tx.notes.get(1), []);
  return (
    note !== undefined && (
      <main>
        <TextArea id="area" rows={8} bind={(live) => live.notes(1).body} />
        <TextBox id="box" bind={(live) => live.notes(1).title} />
        <Controlled />
        <CheckBox id="check" bind={(live) => live.notes(1).done} />
      </main>
    )
  );
}

globalThis.db = await createClient({
  ...(await developmentServer()),
  name: "boxes",
  user: localStorage.getItem("examples.name") ?? "ann",
  schema,
  mutators,
  development: false,
});

createRoot(document.querySelector("#root") as Element).render(
  <IoliteProvider client={db}>
    <Boxes />
  </IoliteProvider>,
);
