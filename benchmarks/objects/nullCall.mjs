// Node's side of a null call of `iolite bench object-null --from node`: benchmarks/src/objects/node.rs.
// Usage: node nullCall.mjs URL TOKEN
import { createInterface } from "node:readline";

import { connectObjects, defineObject } from "@iolite/objects";

/** The server's object, which Node calls. */
class Null {
  call() {}
}
defineObject("Null", Null);

let runs = 0;

/** Node's own object, which the server calls. */
class NodeNull {
  call() {
    runs += 1;
  }

  runs() {
    return runs;
  }
}
defineObject("NodeNull", NodeNull, { devices: "hold", read: ["runs"] });

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** Calls, one after the other, for so many milliseconds. */
async function run(object, millis) {
  // The latencies have three digits, as those of the other clients do.
  const counts = new Map();
  const begun = process.hrtime.bigint();
  const until = begun + BigInt(millis) * 1_000_000n;
  for (let called = begun; called < until; ) {
    await object.call();
    const ended = process.hrtime.bigint();
    const nanos = Number(Number(ended - called).toPrecision(3));
    counts.set(nanos, (counts.get(nanos) ?? 0) + 1);
    called = ended;
  }
  return { latency: [...counts], nanos: Number(process.hrtime.bigint() - begun) };
}

const [url, token] = process.argv.slice(2);
const host = await connectObjects({ url, token, classes: [NodeNull] });
await host.create(NodeNull, "node", new NodeNull());
const object = await host.find(Null, "counted");
say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  say(await run(object, JSON.parse(line)));
}
host.close();
