// A client of Hocuspocus: a document of its own that follows the server's, with a number in it that is counted up.
import { HocuspocusProvider } from "@hocuspocus/provider";
import WebSocket from "ws";
import * as Y from "yjs";

const DOCUMENT = "bench";

export class Session {
    /** @param {string} url @param {string} name the document's */
    static async open(url, name = DOCUMENT) {
        const session = new Session(url, name);
        await new Promise((resolve) => session.provider.on("synced", resolve));
        return session;
    }

    constructor(url, name) {
        const sockets = (this.sockets = []);
        // Its own class, so that the provider's bytes can be read where they are: at the socket.
        class Counted extends WebSocket {
            constructor(...words) {
                super(...words);
                sockets.push(this);
            }
        }
        this.document = new Y.Doc();
        this.numbers = this.document.getMap("numbers");
        this.provider = new HocuspocusProvider({ url, name, document: this.document, WebSocketPolyfill: Counted });
    }

    get total() {
        return this.numbers.get("total") ?? 0;
    }

    /** Calls back with the total whenever it has changed. @param {(total: number) => void} seen */
    onTotal(seen) {
        this.numbers.observe(() => seen(this.total));
    }

    /** Returns when the server has it. */
    increment() {
        const saved = this.saved();
        this.numbers.set("total", this.total + 1);
        return saved;
    }

    /** Returns when the server has what is changed next. */
    saved() {
        return new Promise((resolve) => {
            const look = ({ number }) => {
                if (number === 0) {
                    this.provider.off("unsyncedChanges", look);
                    resolve();
                }
            };
            this.provider.on("unsyncedChanges", look);
        });
    }

    /** Bytes of WebSocket frames with their headers, and of the handshake: only differences are used. */
    get traffic() {
        const sum = (name) => this.sockets.reduce((all, { _socket: socket }) => all + (socket?.[name] ?? 0), 0);
        return { up: sum("bytesWritten"), down: sum("bytesRead") };
    }
}
