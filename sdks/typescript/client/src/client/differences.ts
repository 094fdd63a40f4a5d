/** The differences between two views, as the core tells them. */

import type { TableBinding } from "../transaction/binding.js";
import { hide } from "../transaction/hidden.js";
import type { Difference } from "./types.js";

/** Each is told as the table's number, the values of the key (or the failure of a key that cannot be shown), and the column. */
export function readDifferences(tables: readonly TableBinding[], told: readonly unknown[]): readonly Difference[] {
  return (told as [number: number, key: unknown[] | string, column: string][]).map(([number, key, column]) => {
    const table = tables.find((each) => each.number === number)?.name ?? "";
    const difference = { table, key: key.length === 1 ? key[0] : key, column };
    if (typeof key === "string") {
      hide(difference, "key", key);
    }
    return difference;
  });
}
