import assert from "node:assert/strict";
import { test } from "node:test";

import type { OwnCall } from "./knownMutation.js";
import { MutationBook } from "./mutationBook.js";
import { Notifier } from "./notifier.js";

const PENDING = { state: "pending", durable: false, sent: false, wouldReject: undefined } as const;

test("a counter of the leader before is not the call's under the next one, which may give it to another call", () => {
  const book = new MutationBook({ notifier: new Notifier(), development: false, follows: false, settled: () => undefined });
  const listings = { called: () => undefined, identity: () => "client", pending: () => [], refused: () => [], refusedCount: () => 0 };
  book.attach(listings as never, "follower");
  const call: OwnCall = { ticket: "own", log: undefined, calledAt: 0, stage: "called", counter: undefined, wish: "keep" };
  const handle = book.begin(call, "hit", "null", () => false);
  book.callBecame("own", { state: "queued", counter: 7, status: PENDING });
  assert.equal(book.hasUnanswered, false);
  book.forgetCounters();
  assert.equal(book.hasUnanswered, true);
  book.became(7, { state: "confirmed" }, 1);
  assert.equal(handle.status.state, "pending");
  book.callBecame("own", { state: "queued", counter: 8, status: PENDING });
  book.became(8, { state: "confirmed" }, 1);
  assert.equal(handle.status.state, "confirmed");
});

test("a call that was taken back and waits for the disk is not listed where this tab leads", () => {
  const book = new MutationBook({ notifier: new Notifier(), development: false, follows: false, settled: () => undefined });
  const listings = { called: () => undefined, identity: () => "client", pending: () => [], refused: () => [], refusedCount: () => 0 };
  book.attach(listings as never, "leader");
  book.begin({ ticket: "own", log: undefined, calledAt: 0, stage: "called", counter: 7, wish: "keep" }, "hit", "null", () => false);
  assert.deepEqual(book.pending(), []);
  book.handOver();
  assert.deepEqual(book.pending().map(({ id }) => id), ["own"], "nobody knows whether that was stored");
});
