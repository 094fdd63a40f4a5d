/** The 100 game: players add 1 to 10 in turn, and whoever brings the sum to 100 wins. `node dist/game.js URL[,URL...] TOKEN NAME [GAME]` */

import { createInterface } from "node:readline";

import { Abort, createClient, defineMutators, defineSchema, live, mutator, type ReadTransaction, s } from "@iolite/client";

const [urls = "", token = "", me = "", game = "first"] = process.argv.slice(2);
const schema = defineSchema({ players: live(s.set(s.string())), sum: live(s.counter()), turn: live(s.counter()) });

function playerOf(tx: ReadTransaction<typeof schema>, name: string): string | undefined {
  const players = tx.players.ref(name);
  return players.at(tx.turn.ref(name).get() % Math.max(players.size, 1));
}

const mutators = defineMutators(schema, {
  join: mutator((tx, { game, player }: { game: string; player: string }) => tx.players.ref(game).add(player)),
  move: mutator((tx, { game, player, by }: { game: string; player: string; by: number }) => {
    const sum = tx.sum.ref(game);
    if (playerOf(tx, game) !== player || sum.get() >= 100 || !(by >= 1 && by <= 10)) {
      throw new Abort("not now, or not that much");
    }
    sum.increment(by);
    if (sum.get() < 100) {
      tx.turn.ref(game).increment();
    }
  }),
});

const db = await createClient({ url: urls.split(","), token, name: `100 game of ${me}`, user: me, schema, mutators });
db.onConnectionChange(({ status, message }) => status === "refused" && console.log(message));
db.mutate.join({ game, player: me });
db.onMutationSettled(({ status }) => status.state === "rejected" && console.log(status.reason));
db.react((tx) => ({ sum: tx.sum.get(game) ?? 0, player: playerOf(tx, game) }), { view: "confirmed" }, ({ data }) => {
  if (data === undefined) {
    return;
  }
  console.log(`Sum: ${data.sum}`);
  if (data.sum >= 100) {
    console.log(`${data.player} won!`);
  } else if (data.player === me) {
    console.log("Your turn:");
  }
});
for await (const line of createInterface({ input: process.stdin })) {
  db.mutate.move({ game, player: me, by: Number(line) });
}
await db.close();
