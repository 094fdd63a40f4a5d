/**
 * Cells that JavaScript cannot show as their column says: an integer past 2^53 in a column of numbers. The rest of the row, and the other rows, are read;
 * taking such a cell throws.
 *
 * Invariant: a hidden cell is a getter that throws. It is enumerable, so that a copy of its row throws too, rather than losing a column.
 */

import { errorOf } from "./scope.js";

/** By the row, or the array: the names of what is hidden, with what the core says of each. */
const hidden = new WeakMap<object, Map<string, string>>();

/** Hides a part of a row, or of an array. `failure`: as the core throws it. */
export function hide(owner: object, name: string, failure: string): void {
  Object.defineProperty(owner, name, {
    enumerable: true,
    configurable: true,
    get: () => {
      throw errorOf(failure);
    },
  });
  const known = hidden.get(owner) ?? new Map<string, string>();
  hidden.set(owner, known.set(name, failure));
}

/** The failure of a cell in one of the core's rows. Behind its cells such a row has the places of those that cannot be shown. */
export function failureAt(values: readonly unknown[], columns: number, place: number): string | undefined {
  const places = values[columns] as readonly number[] | undefined;
  return places?.includes(place) === true ? (values[place] as string) : undefined;
}

/** Hides the cells of a row that cannot be shown. */
export function hideIn(row: object, columns: readonly string[], values: readonly unknown[]): void {
  for (const place of (values[columns.length] ?? []) as readonly number[]) {
    hide(row, String(columns[place]), values[place] as string);
  }
}

export function isHidden(owner: object, name: string): boolean {
  return hidden.get(owner)?.has(name) === true;
}

/** Whether anything of it is hidden. */
export function hasHidden(owner: object): boolean {
  return hidden.has(owner);
}

/** The members of a row or an array, with the failures of what is hidden in its place. Nothing throws. */
export function membersWithFailures(owner: object): Record<string, unknown> {
  const failures = hidden.get(owner);
  return Object.fromEntries(Object.keys(owner).map((name) => [name, failures?.get(name) ?? (owner as Record<string, unknown>)[name]]));
}
