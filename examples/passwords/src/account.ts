/** An account, and an account that is in conflict. Both ways of keeping accounts have these. */

import type { Id } from "@iolite/client";

export const FIELDS = ["name", "user", "password", "url", "notes"] as const;

export type Field = (typeof FIELDS)[number];

export type Fields = Readonly<Record<Field, string>>;

export interface Account extends Fields {
  readonly id: Id;
}

/** An account that two devices have changed unseen by each other. A side is undefined if it has no such account: deleted, or not made yet. */
export interface AccountConflict {
  readonly id: Id;
  readonly base: Account | undefined;
  readonly mine: Account | undefined;
  readonly theirs: Account | undefined;
}

/** A person's decision: one side, or fields of both. */
export type Choice = "mine" | "theirs" | Fields;

/** The fields in which two differ. */
export function differing(one: Fields, other: Fields): readonly Field[] {
  return FIELDS.filter((field) => one[field] !== other[field]);
}

/** Whether two sides have the same, or both have nothing. */
export function same(one: Fields | undefined, other: Fields | undefined): boolean {
  return one === undefined || other === undefined ? one === other : differing(one, other).length === 0;
}
