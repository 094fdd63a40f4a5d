/** The one class of the app. Node has the list (`iolite dev --objects examples/todo/objects.js`), and pages import this file too: methods run in them as well. */

import * as iolite from "@iolite/objects";

const managers = [
  iolite.leaseCaching({ leaseMs: 1000 }), // or iolite.consistentCaching({ leaseMs: 1000 })
  iolite.keepInCloud(),
];

export class TodoList {
  /** @type {{ text: string, done: boolean }[]} */
  items = [];

  list() {
    return this.items;
  }

  /** @param {string} text */
  add(text) {
    this.items.push({ text, done: false });
  }

  /** @param {number} at @param {boolean} done */
  mark(at, done) {
    const item = this.items[at];
    if (item === undefined) throw new Error(`there is no item ${at}`);
    item.done = done;
  }
}

iolite.defineObject("TodoList", TodoList, { devices: "hold", read: ["list"], managers });
