/** The differences between two views, as the core tells them. */

import type { TableBinding } from "../transaction/binding.js";
import type { Difference } from "./types.js";

/** Each is told as the table's number, the values of the key, and the column. */
export function readDifferences(tables: readonly TableBinding[], told: readonly unknown[]): readonly Difference[] {
  return (told as [number: number, key: unknown[], column: string][]).map(([number, key, column]) => {
    const table = tables.find((each) => each.number === number);
    return { table: table?.name ?? "", key: key.length === 1 ? key[0] : key, column };
  });
}
