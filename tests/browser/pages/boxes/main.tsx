/** A page of boxes for tests: bound ones, and one that React controls, for the note that its address names. Its client is `db` for the tests. */

import { type ClientOf, createClient, defineMutators, defineSchema, developmentServer, mutator, s, table } from "@iolite/client";
import { CheckBox, IoliteProvider, TextArea, TextBox, useMutation, useReactive } from "@iolite/react";
import { createRoot } from "react-dom/client";

const schema = defineSchema({
  notes: table({ id: s.int(), title: s.string(), body: s.text(), done: s.bool() }),
  cents: table({ id: s.int(), amount: s.int() }),
});

const ID = Number(new URLSearchParams(location.search).get("note"));

const mutators = defineMutators(schema, {
  note: mutator((tx, { id, title, body }: { id: number; title: string; body: string }) => tx.notes.insert({ id, title, body, done: false })),
  rename: mutator((tx, { id, title }: { id: number; title: string }) => tx.notes.update(id, { title })),
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
  const { data: title } = useReactive((tx) => tx.notes.get(ID)?.title, []);
  const rename = useMutation("rename");
  return <input id="controlled" value={title ?? ""} onChange={({ target }) => rename({ id: ID, title: target.value })} />;
}

function Boxes() {
  const { data: note } = useReactive((tx) => tx.notes.get(ID), []);
  return (
    note !== undefined && (
      <main>
        <TextArea id="area" rows={8} bind={(live) => live.notes(ID).body} />
        <TextBox id="box" bind={(live) => live.notes(ID).title} />
        <Controlled />
        <CheckBox id="check" bind={(live) => live.notes(ID).done} />
      </main>
    )
  );
}

globalThis.db = await createClient({
  ...(await developmentServer()),
  name: `boxes-${ID}`,
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
