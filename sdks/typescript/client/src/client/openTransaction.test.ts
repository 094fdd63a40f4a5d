import assert from "node:assert/strict";
import { test } from "node:test";

import { OpenTransaction } from "./openTransaction.js";

test("a transaction gives what the attempt returned that took effect, though it has run again since", async () => {
  const transaction = new OpenTransaction(() => undefined);
  transaction.submitted(0);
  transaction.returned("first");
  transaction.submitted(1);
  transaction.returned("second");
  transaction.submitted(2);
  transaction.returned("run again while those were on their way");
  transaction.tookEffect(1);
  assert.equal(await transaction.result, "first");
});

test("an attempt that is sent again unchanged gives what it returned before", async () => {
  const transaction = new OpenTransaction(() => undefined);
  transaction.returned("lost");
  transaction.returned("sent");
  transaction.submitted(1);
  transaction.submitted(2);
  transaction.tookEffect(2);
  assert.equal(await transaction.result, "sent");
});

test("an attempt that nobody made is an error", async () => {
  const transaction = new OpenTransaction(() => undefined);
  transaction.tookEffect(1);
  await assert.rejects(transaction.result, /never made/);
});
