// Hocuspocus's server, which says its port and then serves until its parent is gone.
// Usage: node server.js memory|fsync [FOLDER]
import { open } from "node:fs/promises";
import { join } from "node:path";

import { IncomingMessage, Server } from "@hocuspocus/server";
import { readSyncMessage } from "./messages.js";

const [durability, folder] = process.argv.slice(2);

/**
 * Writes every update to a file, and syncs it, before the server takes it: so nobody sees, and nobody is told, what a crash would lose.
 * Updates of one moment share a sync, as its own persistence extensions would not; those write a while later, or without waiting.
 */
async function journal() {
    const file = await open(join(folder, "updates"), "a");
    let waiting = [];
    let writing;
    const write = async () => {
        while (waiting.length > 0) {
            const taken = waiting;
            waiting = [];
            await file.appendFile(Buffer.concat(taken));
            await file.datasync();
        }
        writing = undefined;
    };
    return {
        async beforeHandleMessage({ update }) {
            if (!readSyncMessage(new IncomingMessage(update)).isUpdate) {
                return;
            }
            const length = Buffer.alloc(4);
            length.writeUInt32BE(update.length);
            waiting.push(length, update);
            writing ??= write();
            await writing;
        },
    };
}

const server = new Server({
    port: 0,
    address: "127.0.0.1",
    quiet: true,
    stopOnSignals: false,
    extensions: durability === "fsync" ? [await journal()] : [],
});
await server.listen();
console.log(JSON.stringify({ port: server.address.port }));
process.stdin.resume();
process.stdin.on("end", () => process.exit());
