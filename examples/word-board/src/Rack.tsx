/** One's own tiles, and what one may do in one's turn. */

import { useMutation } from "@iolite/react";

import { Face, points } from "./Board";
import { valueOf } from "./letters";
import type { Player } from "./model";

interface RackProps {
  readonly game: string;
  readonly me: Player;
  readonly current: Player;
  /** The place in the rack of the tile that the next square gets. */
  readonly chosen: number | undefined;
  readonly choose: (place: number | undefined) => void;
}

export function Rack({ game, me, current, chosen, choose }: RackProps) {
  const finish = useMutation("finish");
  const pass = useMutation("pass");
  const mine = current.id === me.id;
  return (
    <section className="own" aria-label="Your side of the table">
      <ol className="rack" aria-label="Your tiles">
        {[...me.rack].map((letter, place) => (
          <li key={place}>
            <button
              type="button"
              className="square tile"
              aria-pressed={place === chosen}
              aria-label={`${letter}, ${points(valueOf(letter))}`}
              data-tile={letter}
              disabled={!mine}
              onClick={() => choose(place === chosen ? undefined : place)}
            >
              <Face letter={letter} />
            </button>
          </li>
        ))}
      </ol>
      <div className="moves">
        <button type="button" onClick={() => pass({ game, player: current.id })}>
          {mine ? "Pass" : `Skip ${current.name}`}
        </button>
        <button type="button" className="main" disabled={!mine} onClick={() => finish({ game, player: me.id })}>
          Finish word
        </button>
      </div>
    </section>
  );
}
