/** The cells, with borders of their own and the cursors of others. To the keyboard the grid is one stop of Tab, in which arrow keys walk. */

import { type KeyboardEvent, useState } from "react";

import { type Cell, COLUMNS, type Cursor, LONGEST, ROWS } from "./model";
import type { Sheet } from "./sheetLog";
import { walk } from "./walk";

interface GridProps extends Sheet {
  readonly chosen: string | undefined;
  readonly onChoose: (at: string) => void;
  readonly onWrite: (at: string, text: string) => void;
}

export function Grid({ cells, others, waiting, chosen, onChoose, onWrite }: GridProps) {
  function onKey(event: KeyboardEvent<HTMLElement>): void {
    const next = event.target instanceof HTMLInputElement && !event.nativeEvent.isComposing ? walk(event.target, event.key) : undefined;
    if (next !== undefined) {
      event.currentTarget.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus();
      event.preventDefault();
    }
  }
  return (
    <table className="grid" aria-label="Sheet" onKeyDown={onKey}>
      <thead>
        <tr>
          <td />
          {COLUMNS.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ROWS.map((row) => (
          <tr key={row}>
            <th scope="row">{row}</th>
            {COLUMNS.map((column) => {
              const at = `${column}${row}`;
              const props = { at, cell: cells.get(at), confirmed: waiting.get(at), others: others.filter((one) => one.at === at) };
              return <OneCell key={at} {...props} isStop={at === (chosen ?? "A1")} onChoose={onChoose} onWrite={onWrite} />;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CellProps extends Pick<GridProps, "onChoose" | "onWrite"> {
  readonly at: string;
  readonly cell: Cell | undefined;
  /** The text without pending operations, if some wait here. */
  readonly confirmed: string | undefined;
  readonly others: readonly Cursor[];
  readonly isStop: boolean;
}

/** Others see a text when it is done, not letter by letter. */
function OneCell({ at, cell, confirmed, others, isStop, onChoose, onWrite }: CellProps) {
  const [draft, setDraft] = useState<string>();
  const text = cell?.text ?? "";
  function done(): void {
    if (draft !== undefined && draft !== text) {
      onWrite(at, draft);
    }
    setDraft(undefined);
  }
  const names = others.map(({ name }) => name).join(", ");
  return (
    <td
      className={`cell ${cell?.colour ?? "ink"}`}
      data-cell={at}
      data-width={cell?.width ?? 0}
      data-colour={cell?.colour ?? "ink"}
      data-waits={confirmed !== undefined}
      data-cursors={names}
      style={{ "--width": `${cell?.width ?? 0}px` } as object}
      title={confirmed === undefined ? undefined : `Waits to be sent. Others see: ${confirmed || "nothing"}`}
    >
      <input
        aria-label={names === "" ? at : `${at}, ${names} is here`}
        data-at={at}
        value={draft ?? text}
        maxLength={LONGEST.text}
        autoComplete="off"
        tabIndex={isStop ? 0 : -1}
        onFocus={() => onChoose(at)}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={done}
        onKeyDown={(event) => event.key === "Escape" && setDraft(undefined)}
      />
      {names !== "" && (
        <span className="cursor" aria-hidden="true" style={{ "--hue": hueOf(others[0]?.who ?? "") } as object}>
          <span>{names}</span>
        </span>
      )}
    </td>
  );
}

function hueOf(who: string): number {
  return [...who].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
}
