/** One table: its players, the board, and one's own tiles. */

import { useMutation, useReactive } from "@iolite/react";
import { type Me, Refusals, SyncChip, useMe, useRoute } from "examples-page";
import { useState } from "react";

import { Board } from "./Board";
import { bySeat, type Game, inTurn, isOver, type Player } from "./model";
import { Rack } from "./Rack";

export function App() {
  const id = useRoute("first");
  const [me, rename] = useMe();
  const { data, isUnavailable } = useReactive(
    (tx) => ({ id, game: tx.games.get(id), players: bySeat(tx.players.range({ prefix: [id] })) }),
    [id],
  );
  return (
    <div className="page">
      <header>
        <h1>Word board</h1>
        <SyncChip />
      </header>
      <Refusals words={words} />
      {data?.id === id && <Table key={id} id={id} game={data.game} players={data.players} me={me} rename={rename} />}
      {isUnavailable && <p className="news">This game is not on this device yet, and there is no connection.</p>}
    </div>
  );
}

function words(name: string, args: unknown): string {
  const { letter } = args as { letter?: string };
  const told: Record<string, string> = { join: "take a seat", lay: `lay ${letter}`, takeBack: "take a tile back", finish: "finish the word", pass: "pass" };
  return told[name] ?? name;
}

interface TableProps {
  readonly id: string;
  readonly game: Game | undefined;
  readonly players: readonly Player[];
  readonly me: Me;
  readonly rename: (name: string) => void;
}

function Table({ id, game, players, me, rename }: TableProps) {
  const [chosen, choose] = useState<number>();
  const lay = useMutation("lay");
  const takeBack = useMutation("takeBack");
  const own = players.find((player) => player.id === me.id);
  const current = game && inTurn(game, players);
  const letter = chosen === undefined ? undefined : own?.rack[chosen];
  function onSquare(at: number, isLaid: boolean): void {
    if (isLaid) {
      takeBack({ game: id, player: me.id, at });
    } else if (letter !== undefined) {
      lay({ game: id, player: me.id, letter, at });
      choose(undefined);
    }
  }
  return (
    <>
      <Players players={players} current={current} />
      <Board game={id} onSquare={onSquare} />
      {own === undefined ? (
        <Seat game={id} me={me} rename={rename} />
      ) : (
        <Rack game={id} me={own} current={current} over={game !== undefined && isOver(game, players)} chosen={chosen} choose={choose} />
      )}
      <p className="news" aria-live="polite">
        {game?.news} {game !== undefined && <small>{game.bag.length} tiles left to draw</small>}
      </p>
    </>
  );
}

function Players({ players, current }: { players: readonly Player[]; current: Player | undefined }) {
  return (
    <ol className="players" aria-label="Players">
      {players.map((player) => (
        <li key={player.id} aria-current={player.id === current?.id} data-player={player.name} data-score={player.score}>
          <span>{player.name}</span> <strong>{player.score}</strong>
        </li>
      ))}
    </ol>
  );
}

function Seat({ game, me, rename }: { game: string; me: Me; rename: (name: string) => void }) {
  const join = useMutation("join");
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
