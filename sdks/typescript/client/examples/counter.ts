/** Ten lines: a counter that everybody shares, at the `iolite dev` of an address or of the usual one. */

// README: begin
import { createClient, defineMutators, defineSchema, developmentServer, live, mutator, s } from "@iolite/client";

const schema = defineSchema({ hits: live(s.counter()) });
const mutators = defineMutators(schema, {
  hit: mutator((tx, args: { page: string }) => tx.hits.ref(args.page).increment()),
});
const server = await developmentServer(process.argv[2] ?? "http://127.0.0.1:7777");
const db = await createClient({ ...server, name: "counter", user: "me", schema, mutators });
db.react((tx) => tx.hits.get("home"), { view: "confirmed" }, ({ data }) => console.log(data));
await db.mutate.hit({ page: "home" }).until("confirmed");
// README: end
await db.close();
