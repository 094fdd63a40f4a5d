/** The one class of the app. Node runs it beside the server: `iolite dev --objects examples/todo/objects.js`. */

import { defineObject } from "@iolite/objects";

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

defineObject("TodoList", TodoList, { read: ["list"] });
