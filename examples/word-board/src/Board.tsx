/**
 * The board. Each square is bound to its own row, so a tile that is laid renders one square again, here and everywhere.
 * To the keyboard it is one stop, on whose squares one walks.
 */

import { useLive } from "@iolite/react";
import { useMarks } from "examples-page";
import { type KeyboardEvent, memo, useCallback, useRef, useState } from "react";

import { BONUS_WORDS, bonusOf, CENTRE, SIZE, valueOf } from "./letters";
import { walk } from "./walk";

const PLACES = Array.from({ length: SIZE }, (_, place) => place);

interface BoardProps {
  readonly game: string;
  readonly onSquare: (at: number, isLaid: boolean) => void;
  /** A letter was typed on a square. */
  readonly onLetter: (at: number, letter: string) => void;
}

export function Board({ game, onSquare, onLetter }: BoardProps) {
  const { data: laid } = useLive((live) => live.laid(game), [game]);
  const markOf = useMarks((args) => (args as { at?: number }).at);
  const [stop, setStop] = useState(CENTRE);
  // The same functions at every render, so that squares that did not change are not rendered.
  const latest = useRef(onSquare);
  latest.current = onSquare;
  const press = useCallback((at: number, isLaid: boolean) => latest.current(at, isLaid), []);
  function onKey(event: KeyboardEvent<HTMLElement>): void {
    const next = walk(stop, event.key, event.ctrlKey);
    if (next !== undefined) {
      event.currentTarget.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus();
      event.preventDefault();
    } else if (/^[a-z]$/i.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      onLetter(stop, event.key.toUpperCase());
    }
  }
  return (
    <div className="board" role="grid" aria-label="Board" onKeyDown={onKey}>
      {PLACES.map((row) => (
        <div key={row} className="row" role="row">
          {PLACES.map((column) => {
            const at = row * SIZE + column;
            const [isLaid, isWaiting] = [laid?.has(at) ?? false, markOf(at) !== "sent"];
            return <Square key={at} {...{ game, at, isLaid, isWaiting }} isStop={at === stop} onPress={press} onFocus={setStop} />;
          })}
        </div>
      ))}
    </div>
  );
}

interface SquareProps {
  readonly game: string;
  readonly at: number;
  readonly isLaid: boolean;
  readonly isWaiting: boolean;
  /** Whether Tab leads here. */
  readonly isStop: boolean;
  readonly onPress: (at: number, isLaid: boolean) => void;
  readonly onFocus: (at: number) => void;
}

const Square = memo(function Square({ game, at, isLaid, isWaiting, isStop, onPress, onFocus }: SquareProps) {
  const { data: tile } = useLive((live) => live.squares([game, at]).self, [game, at]);
  const letter = tile?.letter ?? "";
  const bonus = bonusOf(at);
  return (
    <div role="gridcell">
      <button
        type="button"
        className={letter === "" ? `square bonus-${bonus ?? "none"}` : `square tile${isLaid ? " laid" : ""}${isWaiting ? " waiting" : ""}`}
        aria-label={nameOf(at, letter, isLaid)}
        tabIndex={isStop ? 0 : -1}
        data-at={at}
        data-letter={letter}
        data-laid={isLaid}
        onFocus={() => onFocus(at)}
        onClick={() => onPress(at, isLaid)}
      >
        {letter === "" ? <small>{at === CENTRE ? "★" : bonus}</small> : <Face letter={letter} />}
      </button>
    </div>
  );
});

/** The name of a square for screen readers: first its content, then its place. */
function nameOf(at: number, letter: string, isLaid: boolean): string {
  const bonus = bonusOf(at);
  const empty = at === CENTRE ? ["Start", "double word"] : ["Empty", bonus && `${bonus} ${BONUS_WORDS[bonus]}`];
  const what = letter === "" ? empty : [letter, points(valueOf(letter)), isLaid && "not finished"];
  return [...what, `row ${Math.floor(at / SIZE) + 1}, column ${(at % SIZE) + 1}`].filter(Boolean).join(", ");
}

export function points(count: number): string {
  return count === 1 ? "1 point" : `${count} points`;
}

/** A tile's front. The style sheet draws the value, which the button's name says in words. */
export function Face({ letter }: { letter: string }) {
  return (
    <>
      {letter}
      <sub data-value={valueOf(letter)} />
    </>
  );
}
