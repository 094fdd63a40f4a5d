/** A write that fails, or of which nobody hears that it worked. */

import { mock } from "node:test";

import { IDBTransaction } from "fake-indexeddb";

/** The next write of any tab ends so. Resolves when it has. */
export function nextWrite(end: "fails" | "is stored, and said to have failed"): Promise<void> {
  return new Promise((ended) => {
    const committed = mock.method(IDBTransaction.prototype, "commit", function (this: IDBTransaction) {
      const { commit } = this;
      if (this.mode !== "readwrite") {
        return commit.call(this);
      }
      committed.mock.restore();
      this.addEventListener("complete", () => ended());
      this.addEventListener("abort", () => ended());
      if (end === "fails") {
        return queueMicrotask(() => this.abort());
      }
      this.commit();
      queueMicrotask(() => (this.oncomplete = (event) => this.onabort?.(event)));
    });
  });
}
