/** How far one's own line has got, as one of four icons. */

import type { Mark } from "./chat";

const STEPS = {
  optimistic: ["M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M8 5v3l2 2", "Only here"],
  durable: ["M3 3h8l2 2v8H3zM6 3v3h4V3M5 13V9h6v4", "On this device's disk"],
  confirmed: ["M3 9l3 3 7-8", "With the server"],
  delivered: ["M1 9l3 3 6-8M6.5 10.5L8 12l7-8", "With everybody here"],
} as const;

/** `isDelivered`: undefined where nobody knows. */
export function Reached({ mark, isDelivered }: { mark: Mark; isDelivered: boolean | undefined }) {
  const step = mark === "here" ? "optimistic" : mark === "kept" ? "durable" : isDelivered === true ? "delivered" : "confirmed";
  const [path, words] = STEPS[step];
  return (
    <span className="reached" data-reached={step} title={words}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={path} />
      </svg>
      <span className="unseen">{words}</span>
    </span>
  );
}
