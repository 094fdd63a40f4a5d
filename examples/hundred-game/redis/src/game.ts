/** The 100 game, kept in Redis: the same as ../typescript, with storage and notifications by hand. `node dist/game.js URL NAME [GAME]` */

import { createInterface } from "node:readline";

import { createClient, WatchError } from "redis";

const [url = "", me = "", game = "first"] = process.argv.slice(2);
const [playersKey, sumKey, turnKey, channel] = ["players", "sum", "turn", "moves"].map((name) => `${game}:${name}`) as [string, string, string, string];

const redis = await createClient({ url }).on("error", (error) => console.error(error.message)).connect();
// A connection that watches keys, or that listens, can do nothing else meanwhile.
const moving = await redis.duplicate().on("error", () => undefined).connect();
const listening = await redis.duplicate().on("error", () => undefined).connect();

async function read(from: typeof redis): Promise<{ sum: number; player: string | undefined }> {
  const [players, sum, turn] = await from.multi().sMembers(playersKey).get(sumKey).get(turnKey).execTyped();
  return { sum: Number(sum ?? 0), player: players.sort()[Number(turn ?? 0) % Math.max(players.length, 1)] };
}

/** Tries again when others were faster; nothing is done, and nothing is kept, while there is no connection. */
async function move(by: number): Promise<void> {
  for (;;) {
    await moving.watch([playersKey, sumKey, turnKey]);
    const { sum, player } = await read(redis);
    if (player !== me || sum >= 100 || !(by >= 1 && by <= 10)) {
      await moving.unwatch();
      return console.log("not now, or not that much");
    }
    const writes = moving.multi().incrBy(sumKey, by);
    if (sum + by < 100) {
      writes.incr(turnKey);
    }
    try {
      await writes.publish(channel, "").exec();
      return void (await moving.wait(1, 1000));
    } catch (error) {
      if (!(error instanceof WatchError)) {
        throw error;
      }
    }
  }
}

/** A message that was missed stays missed, so this looks again after each connection too. */
async function show(): Promise<void> {
  const { sum, player } = await read(redis);
  console.log(`Sum: ${sum}`);
  if (sum >= 100) {
    console.log(`${player} won!`);
  } else if (player === me) {
    console.log("Your turn:");
  }
}

await listening.subscribe(channel, () => void show().catch(console.error));
listening.on("ready", () => void show().catch(console.error));
await redis.multi().sAdd(playersKey, me).publish(channel, "").exec();
for await (const line of createInterface({ input: process.stdin })) {
  await move(Number(line));
}
await Promise.all([redis.close(), moving.close(), listening.close()]);
