/** The border of the chosen cell. Width and colour are operations of their own: two people can change both at once. */

import { type Cell, COLOURS, WIDEST } from "./model";
import type { SheetLog } from "./sheetLog";

interface ToolsProps {
  readonly cell: string | undefined;
  readonly now: Cell | undefined;
  readonly log: SheetLog;
}

export function Tools({ cell, now, log }: ToolsProps) {
  const width = now?.width ?? 0;
  return (
    <div className="tools" role="group" aria-label="Border">
      <span>{cell === undefined ? "Choose a cell to change its border." : `Border of ${cell}: ${width} px`}</span>
      <button type="button" disabled={cell === undefined || width === 0} onClick={() => cell && log.do.widen({ at: cell, by: -1 })}>
        Thinner
      </button>
      <button type="button" disabled={cell === undefined || width === WIDEST} onClick={() => cell && log.do.widen({ at: cell, by: 1 })}>
        Thicker
      </button>
      <span className="colours">
        {COLOURS.map((colour) => (
          <button
            key={colour}
            type="button"
            className={`colour ${colour}`}
            aria-label={`Border in ${colour}`}
            aria-pressed={(now?.colour ?? "ink") === colour}
            disabled={cell === undefined}
            onClick={() => cell && log.do.paint({ at: cell, colour })}
          />
        ))}
      </span>
    </div>
  );
}
