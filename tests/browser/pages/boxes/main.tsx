/** A page of boxes for tests: bound ones, and one that React controls, for the note that `show` names. Its client is `db` for the tests. */

import { type ClientOf, createClient, defineMutators, defineSchema, developmentServer, mutator, s, table } from "@iolite/client";
import { CheckBox, IoliteProvider, TextArea, TextBox, useMutation, useReactive } from "@iolite/react";
import { createRoot } from "react-dom/client";

const schema = defineSchema({
  notes: table({ id: s.int(), title: s.string(), body: s.text(), done: s.bool() }),
  cents: table({ id: s.int(), amount: s.int() }),
});

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
  var show: (note: number) => void;
}

/** Text that a component controls: each letter goes through a mutator and comes back. */
function Controlled({ id }: { id: number }) {
  const { data: title } = useReactive((tx) => tx.notes.get(id)?.title, [id]);
  const rename = useMutation("rename");
  return <input id="controlled" value={title ?? ""} onChange={({ target }) => rename({ id, title: target.value })} />;
}

function Boxes({ id }: { id: number }) {
  const { data: note } = useReactive((tx) => tx.notes.get(id), [id]);
  return (
    note !== undefined && (
      <main>
        <TextArea id="area" rows={8} bind={(live) => live.notes(id).body} deps={[id]} />
        <TextBox id="box" bind={(live) => live.notes(id).title} deps={[id]} />
        <Controlled id={id} />
        <CheckBox id="check" bind={(live) => live.notes(id).done} deps={[id]} />
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

const root = createRoot(document.querySelector("#root") as Element);

globalThis.show = (note) =>
  root.render(
    <IoliteProvider client={db}>
      <Boxes key={note} id={note} />
    </IoliteProvider>,
  );
