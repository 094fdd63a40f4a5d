/** A connection as a chip: in words, and how many changes wait. It only shows; the switch that changes it is another thing, `Switch`. */

import type { ConnectionWords } from "./connectionWords";

interface StatusChipProps {
  readonly status: string;
  readonly words: ConnectionWords;
  readonly waiting: number;
}

export function StatusChip({ status, words: { title, detail, tone }, waiting }: StatusChipProps) {
  return (
    <p role="status" className="sync-chip" title={detail} data-connection={status} data-pending={waiting}>
      <span className={`connection tone-${tone}`}>{title}</span>
      {waiting > 0 && (
        <span className="count">
          {waiting}
          <span className="unseen"> waiting to be sent</span>
        </span>
      )}
      <span className="unseen">{detail}</span>
    </p>
  );
}
