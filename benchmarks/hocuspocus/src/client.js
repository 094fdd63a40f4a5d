// A client's process of `iolite bench propagate` and `fanout`, which says and hears what Iolite's do: benchmarks/src/talk.rs.
// Usage: node client.js writer|reader|verify URL [SESSIONS]
import { createInterface } from "node:readline";

import { Session } from "./session.js";

const [role, url, sessions = "1"] = process.argv.slice(2);

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
// The clock that all processes of a machine share, as Iolite's clients read it.
const now = () => Number(process.hrtime.bigint());
const heard = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => JSON.parse((await heard.next()).value ?? '"End"');

function result(before, after, committed) {
    const counts = { committed, attempts: committed, rejected: 0, unknown: 0, violations: 0, nanos: 0, commit_latency: [], appends: [] };
    return { Result: { ...counts, bytes_up: after.up - before.up, bytes_down: after.down - before.down } };
}

async function write() {
    const session = await Session.open(url);
    const before = session.traffic;
    say("Ready");
    let committed = 0;
    while ((await hear()) === "Call") {
        const called_nanos = now();
        await session.increment();
        committed += 1;
        say({ Called: { called_nanos, confirmed_nanos: now() } });
    }
    say(result(before, session.traffic, committed));
}

/** Says when the last of its sessions has seen a total. */
async function read() {
    const open = [];
    for (let index = 0; index < Number(sessions); index += 1) {
        open.push(await Session.open(url));
    }
    const totals = () => open.map((session) => session.traffic).reduce((all, one) => ({ up: all.up + one.up, down: all.down + one.down }));
    const before = totals();
    const seen = new Map();
    for (const session of open) {
        session.onTotal((total) => {
            const count = (seen.get(total) ?? 0) + 1;
            seen.set(total, count);
            if (count === open.length) {
                seen.delete(total);
                say({ Ran: { total, at_nanos: now() } });
            }
        });
    }
    say("Ready");
    await hear();
    say(result(before, totals(), 0));
}

async function verify() {
    say({ State: { total: (await Session.open(url)).total, sum: 0, lists: {} } });
}

await { writer: write, reader: read, verify }[role]();
process.exit();
