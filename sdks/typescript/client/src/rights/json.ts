/** Rights as servers read them: plain JSON, with keys in order, so that equal rights have one text. */

/** A rule as data. */
export type RuleJson = Readonly<Record<string, unknown>>;
/** A value that a rule looks at, as data. */
export type OperandJson = unknown;
/** A comparison as data: one relation, and what it compares with. */
export type ComparisonJson = Readonly<Record<string, OperandJson>>;

/** The same with keys in order. */
export function inOrder(json: unknown): unknown {
  if (Array.isArray(json)) {
    return json.map(inOrder);
  }
  if (typeof json !== "object" || json === null) {
    return json;
  }
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, inOrder(value)]));
}
