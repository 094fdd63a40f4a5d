/** A free seat at the table, to take. */

import { newId } from "@iolite/client";
import { useMutation } from "@iolite/react";
import type { Me } from "examples-page";

interface SeatProps {
  readonly game: string;
  readonly isFull: boolean;
  readonly me: Me;
  readonly rename: (name: string) => void;
}

export function Seat({ game, isFull, me, rename }: SeatProps) {
  const join = useMutation("join");
  if (isFull) {
    return (
      <p>
        All seats are taken: watch, or <a href={`#/${newId().slice(0, 10)}`}>open another table</a>.
      </p>
    );
  }
  return (
    <form
      className="seat"
      onSubmit={(event) => {
        event.preventDefault();
        join({ game, player: me.id, name: me.name });
      }}
    >
      <input aria-label="Your name" value={me.name} maxLength={16} onChange={({ target }) => rename(target.value)} />
      <button type="submit" className="main" disabled={me.name.trim() === ""}>
        Take a seat
      </button>
    </form>
  );
}
