/** The board. Each square is bound to its own shared variable, so a tile that is laid renders one square again, here and everywhere. */

import { useLive } from "@iolite/react";
import { useMarks } from "examples-page";
import { memo, useCallback, useRef } from "react";

import { bonusOf, CENTRE, SIZE, valueOf } from "./letters";
import { squareOf } from "./model";

const SQUARES = Array.from({ length: SIZE * SIZE }, (_, at) => at);

interface BoardProps {
  readonly game: string;
  readonly onSquare: (at: number, isLaid: boolean) => void;
}

export function Board({ game, onSquare }: BoardProps) {
  const { data: laid } = useLive((live) => live.laid(game), [game]);
  const markOf = useMarks((args) => (args as { at?: number }).at);
  // The same function at every render, so that squares that did not change are not rendered.
  const latest = useRef(onSquare);
  latest.current = onSquare;
  const press = useCallback((at: number, isLaid: boolean) => latest.current(at, isLaid), []);
  return (
    <div className="board" role="grid" aria-label="Board">
      {SQUARES.map((at) => (
        <Square key={at} game={game} at={at} isLaid={laid?.has(at) ?? false} isWaiting={markOf(at) !== "sent"} onPress={press} />
      ))}
    </div>
  );
}

interface SquareProps {
  readonly game: string;
  readonly at: number;
  readonly isLaid: boolean;
  readonly isWaiting: boolean;
  readonly onPress: (at: number, isLaid: boolean) => void;
}

const Square = memo(function Square({ game, at, isLaid, isWaiting, onPress }: SquareProps) {
  const { data: letter = "" } = useLive((live) => live.squares(squareOf(game, at)), [game, at]);
  const bonus = bonusOf(at);
  const name = `Row ${Math.floor(at / SIZE) + 1}, column ${(at % SIZE) + 1}${letter === "" ? "" : `: ${letter}`}`;
  return (
    <button
      type="button"
      className={letter === "" ? `square bonus-${bonus ?? "none"}` : `square tile${isLaid ? " laid" : ""}${isWaiting ? " waiting" : ""}`}
      aria-label={name}
      data-at={at}
      data-letter={letter}
      data-laid={isLaid}
      onClick={() => onPress(at, isLaid)}
    >
      {letter === "" ? <small>{at === CENTRE ? "★" : bonus}</small> : <Face letter={letter} />}
    </button>
  );
});

/** A tile's front. */
export function Face({ letter }: { letter: string }) {
  return (
    <>
      {letter}
      <sub>{valueOf(letter)}</sub>
    </>
  );
}
