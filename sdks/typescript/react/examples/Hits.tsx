/** A button that counts for everybody. */

// README: begin
import { createClient, defineMutators, defineSchema, developmentServer, live, mutator, s } from "@iolite/client";
import { IoliteProvider, useMutation, useReactive } from "@iolite/react";
import { createRoot } from "react-dom/client";

const schema = defineSchema({ hits: live(s.counter()) });
const mutators = defineMutators(schema, { hit: mutator((tx, page: string) => tx.hits.ref(page).increment()) });
const server = await developmentServer();
export const client = await createClient({ ...server, name: "hits", user: "me", schema, mutators });

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
