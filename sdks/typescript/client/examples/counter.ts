/** Ten lines: a counter that everybody shares. `node dist/examples/counter.js URL TOKEN` with what `iolite dev` printed. */

// README: begin
import { createClient, defineMutators, defineSchema, live, mutator, s } from "@iolite/client";

const schema = defineSchema({ hits: live(s.counter()) });
const mutators = defineMutators(schema, {
  hit: mutator((tx, args: { page: string }) => tx.hits.ref(args.page).increment()),
});
const [url = "ws://127.0.0.1:7777/sync", token = ""] = process.argv.slice(2);
const db = await createClient({ url, token, name: "counter", user: "me", schema, mutators });
db.react((tx) => tx.hits.get("home"), { view: "confirmed" }, ({ data }) => console.log(data));
await db.mutate.hit({ page: "home" }).until("confirmed");
// README: end
await db.close();
