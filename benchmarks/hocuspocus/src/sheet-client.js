// A member's process of `iolite bench views` on Hocuspocus, which says and hears what Iolite's do: benchmarks/src/views/talk.rs.
// Usage: node sheet-client.js URL NAME
import { createInterface } from "node:readline";

import { Session } from "./session.js";
import { Sheet } from "./sheet.js";

const [url, who] = process.argv.slice(2);

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
// The clock that all processes of a machine share, as Iolite's members read it.
const now = () => Number(process.hrtime.bigint());
const heard = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => JSON.parse((await heard.next()).value ?? '"End"');

const session = await Session.open(url, "sheet");
const sheet = new Sheet(session.provider, who);
const wrote = {};
let number = 0;

/** Every other row of two columns, as in section 3.7.2. */
const place = (number) => `${"AB"[number % 2]}${1 + 2 * (Math.floor(number / 2) % 20)}`;

/** One operation, until everybody has it. */
async function call() {
    const [at, text] = [place(number), `${who} ${number}`];
    number += 1;
    const called_nanos = now();
    const own = sheet.setCell(at, text);
    const isShown = (view) => sheet.cell(view, at) === text;
    let violations = isShown("optimistic") ? 0 : 1;
    const optimistic = now() - called_nanos;
    await sheet.until("confirmed", own);
    const confirmed = now() - called_nanos;
    violations += isShown("confirmed") ? 0 : 1;
    await sheet.until("delivered", own);
    const delivered = now() - called_nanos;
    violations += isShown("delivered") ? 0 : 1;
    wrote[at] = text;
    return { called_nanos, optimistic, durable: null, confirmed, delivered, violations };
}

async function calls({ seconds, warm_up }) {
    for (let count = 0; count < warm_up; count += 1) {
        await call();
    }
    const made = [];
    const end = now() + seconds * 1e9;
    do {
        made.push(await call());
    } while (now() < end);
    return { Calls: { calls: made, unknown: 0 } };
}

await sheet.until("confirmed", sheet.select("A1"));
say("Ready");
for (;;) {
    const told = await hear();
    if (told === "End") {
        const saved = session.saved();
        sheet.leave();
        await saved;
        break;
    } else if (told === "State") {
        const cells = Object.fromEntries(sheet.cells("delivered"));
        const [uncertain, cursors] = [sheet.uncertain().length, sheet.cursors("delivered").size];
        say({ State: { cells, items: {}, wrote, uncertain, cursors, is_delivered_view: true } });
    } else {
        say(await calls(told.Calls));
    }
}
process.exit();
