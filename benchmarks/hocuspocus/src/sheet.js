// The sheet of `iolite bench views` on Yjs, with the views that section 3.6.3 of Lebeck 2020 builds on Cloud Firestore: operations in an array, a record
// in a map of what each client has applied, and three views computed from both. Iolite's is benchmarks/src/views/sheet.rs.
//
// Not here, as in the paper: nothing is removed from the array, and a client that ends without `leave` holds up the delivered view for good. There is no
// durable view, since nothing is stored on the device. The order of two operations made at the same moment is known only when both have arrived.

/** @typedef {{ who: string, number: number, name: "setCell" | "select", at: string, text?: string }} Operation */

export const VIEWS = ["optimistic", "confirmed", "delivered"];

/** What the operations of a prefix of the array come to. */
class View {
    next = 0;
    cells = new Map();
    cursors = new Map();
    /** Of each client, the number of its last operation in here. */
    applied = {};

    /** @param {Operation} operation */
    apply({ who, number, name, at, text }) {
        if (name === "setCell") {
            this.cells.set(at, text);
        } else {
            this.cursors.set(who, at);
        }
        this.applied[who] = number;
        this.next += 1;
    }
}

export class Sheet {
    /** @type {Operation[]} */
    log = [];
    views = Object.fromEntries(VIEWS.map((name) => [name, new View()]));
    called = 0;
    /** Own operations up to this number are at the server. */
    acknowledged = 0;
    waiting = [];

    /** @param {import("@hocuspocus/provider").HocuspocusProvider} provider @param {string} who */
    constructor(provider, who) {
        this.who = who;
        this.document = provider.document;
        this.operations = this.document.getArray("operations");
        this.records = this.document.getMap("applied");
        this.operations.observe((event) => this.take(event.delta));
        this.records.observe(() => this.advance());
        provider.on("unsyncedChanges", ({ number }) => {
            if (number === 0) {
                this.acknowledged = this.called;
                this.advance();
            }
        });
        this.take([{ retain: 0 }]);
        this.join();
    }

    join() {
        this.records.set(this.who, { ...this.views.optimistic.applied });
    }

    leave() {
        this.records.delete(this.who);
    }

    setCell(at, text) {
        return this.call({ name: "setCell", at, text });
    }

    select(at) {
        return this.call({ name: "select", at });
    }

    /** Returns the operation's number, for `until`. */
    call(operation) {
        this.called += 1;
        this.operations.push([{ ...operation, who: this.who, number: this.called }]);
        return this.called;
    }

    cell(view, at) {
        return this.views[view].cells.get(at) ?? "";
    }

    cells(view) {
        return this.views[view].cells;
    }

    cursors(view) {
        return this.views[view].cursors;
    }

    /** The cells that somebody may not see as this client does. */
    uncertain() {
        const [now, seen] = [this.cells("optimistic"), this.cells("delivered")];
        return [...now.keys()].filter((at) => now.get(at) !== seen.get(at));
    }

    /** Resolves when a view has an own operation. */
    until(view, number) {
        return new Promise((resolve) => {
            this.waiting.push({ view, number, resolve });
            this.tell();
        });
    }

    /** Operations were added: mostly behind all others, else the views begin anew. */
    take(delta) {
        const [first, second] = delta;
        const isAppended = first.retain === this.log.length && delta.length === 2 && second.insert;
        if (isAppended) {
            this.log.push(...second.insert);
        } else {
            this.log = this.operations.toArray();
            this.views = Object.fromEntries(VIEWS.map((name) => [name, new View()]));
        }
        this.advance();
        this.record();
    }

    /** Brings each view as far as it may go. */
    advance() {
        for (const name of VIEWS) {
            const view = this.views[name];
            while (view.next < this.log.length && this.isIn(name, this.log[view.next])) {
                view.apply(this.log[view.next]);
            }
        }
        this.tell();
    }

    isIn(view, operation) {
        switch (view) {
            case "optimistic":
                return true;
            case "confirmed":
                return operation.who !== this.who || operation.number <= this.acknowledged;
            case "delivered":
                return this.isIn("confirmed", operation) && this.everybodyHas(operation);
        }
    }

    everybodyHas({ who, number }) {
        return [...this.records].every(([member, applied]) => member === who || (applied[who] ?? 0) >= number);
    }

    /** Says what this client has applied, if others have called something since. */
    record() {
        const told = this.records.get(this.who);
        const { applied } = this.views.optimistic;
        if (told && Object.keys(applied).some((who) => who !== this.who && applied[who] !== told[who])) {
            this.records.set(this.who, { ...applied });
        }
    }

    tell() {
        this.waiting = this.waiting.filter(({ view, number, resolve }) => {
            const isThere = (this.views[view].applied[this.who] ?? 0) >= number;
            if (isThere) {
                resolve();
            }
            return !isThere;
        });
    }
}
