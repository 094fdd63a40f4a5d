/** What the marks mean, and how well this device keeps things. */

import type { Mark } from "./marks";
import { TextMark } from "./PlanMark";

const ENTRIES: readonly [Mark, string][] = [
  ["optimistic", "only here"],
  ["durable", "on this device"],
  ["undelivered", "not with everybody"],
  ["confirmed", "confirmed"],
  ["doubtful", "may be refused"],
];

interface LegendProps {
  readonly storage: "indexeddb" | "memory";
  readonly persistent: boolean;
}

export function Legend({ storage, persistent }: LegendProps) {
  return (
    <footer className="legend">
      <ul aria-label="What the marks mean">
        {ENTRIES.map(([mark, words]) => (
          <li key={mark}>
            <TextMark mark={mark} />
            {words}
          </li>
        ))}
      </ul>
      <p data-storage={storage}>{storageWords(storage, persistent)}</p>
    </footer>
  );
}

function storageWords(storage: "indexeddb" | "memory", persistent: boolean): string {
  if (storage === "memory") {
    return "Kept in memory only: a reload loses what was not sent.";
  }
  return persistent ? "Kept on this device for good." : "Kept on this device, unless the browser runs out of space.";
}
