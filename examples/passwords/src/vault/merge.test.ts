/** The merge of two vaults: what one side changed is kept, and what both changed is asked. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Account } from "../account.js";
import { packed, unpacked } from "./content.js";
import { decided, merge } from "./merge.js";

function account(id: string, password: string): Account {
  return { id: id as Account["id"], name: id, user: "", password, url: "", notes: "" };
}

const [one, two, three] = [account("1", "old"), account("2", "old"), account("3", "old")];
const base = [one, two, three];

test("A changes 1 and 2, B changes 2 and 3: only 2 is a conflict", () => {
  const mine = [account("1", "A"), account("2", "A"), three];
  const theirs = [one, account("2", "B"), account("3", "B")];
  const { accounts, conflicts } = merge(base, mine, theirs);
  assert.deepEqual(accounts, [account("1", "A"), account("3", "B")]);
  assert.deepEqual(conflicts, [{ id: "2", base: two, mine: account("2", "A"), theirs: account("2", "B") }]);
});

test("what one side adds or deletes stays so, and two who do the same agree", () => {
  const mine = [account("1", "both"), three, account("4", "A")];
  const theirs = [account("1", "both"), two, account("5", "B")];
  const { accounts, conflicts } = merge(base, mine, theirs);
  assert.deepEqual(accounts, [account("1", "both"), account("4", "A"), account("5", "B")]);
  assert.deepEqual(conflicts, []);
});

test("a deletion against a change is a conflict, from either side", () => {
  const changed = account("2", "A");
  assert.deepEqual(merge([two], [changed], []).conflicts, [{ id: "2", base: two, mine: changed, theirs: undefined }]);
  assert.deepEqual(merge([two], [], [changed]).conflicts, [{ id: "2", base: two, mine: undefined, theirs: changed }]);
});

test("without a base all that differs is asked", () => {
  const { accounts, conflicts } = merge([], [one, two], [one, account("2", "B")]);
  assert.deepEqual([accounts, conflicts.length], [[one], 1]);
});

test("a decision leaves one side, fields of both, or nothing", () => {
  const conflict = { id: two.id, base: two, mine: undefined, theirs: account("2", "B") };
  assert.deepEqual(decided(conflict, "mine"), []);
  assert.deepEqual(decided(conflict, "theirs"), [account("2", "B")]);
  const { id: _, ...fields } = account("2", "C");
  assert.deepEqual(decided(conflict, fields), [account("2", "C")]);
});

test("a vault is read as it was packed", () => {
  assert.deepEqual(unpacked(packed([account("ü", "\u{1F511}")])), [account("ü", "\u{1F511}")]);
});
