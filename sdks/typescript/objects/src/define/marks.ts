/** Marks that decorators leave on a method: kept beside the function, since engines that lower decorators have no metadata. */

import type { Parser } from "@iolite/client";

export interface Marks {
  reads?: boolean;
  parser?: Parser<readonly unknown[]>;
}

/** Two copies of this package in one program have it in common. */
const MARKS = Symbol.for("iolite.objects.marks");

export function mark(method: object, marks: Marks): void {
  Object.defineProperty(method, MARKS, { value: { ...marksOf(method), ...marks }, configurable: true });
}

export function marksOf(method: object): Marks | undefined {
  return Object.hasOwn(method, MARKS) ? (method as { [MARKS]?: Marks })[MARKS] : undefined;
}
