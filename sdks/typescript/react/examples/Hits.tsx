/** A button that counts for everybody. */

// README: begin
import { createClient, defineMutators, defineSchema, live, mutator, s } from "@iolite/client";
import { IoliteProvider, useMutation, useReactive } from "@iolite/react";
import { createRoot } from "react-dom/client";

const schema = defineSchema({ hits: live(s.counter()) });
const mutators = defineMutators(schema, { hit: mutator((tx, page: string) => tx.hits.ref(page).increment()) });
const options = { url: "ws://127.0.0.1:7777/sync", token: "the token that iolite dev printed" };
export const client = await createClient({ ...options, name: "hits", user: "me", schema, mutators });

declare module "@iolite/react" {
  interface Register {
    client: typeof client;
  }
}

function Hits() {
  const { data } = useReactive((tx) => tx.hits.get("home"), []);
  const hit = useMutation("hit");
  return <button onClick={() => hit("home")}>{data ?? "..."}</button>;
}

createRoot(document.body).render(<IoliteProvider client={client}><Hits /></IoliteProvider>);
// README: end
