/** One table: what the game is, its players, the board, and one's own tiles. */

import { useMutation, useReactive } from "@iolite/react";
import { AskButton, type Me, NetworkSwitch, Refusals, SecondWindow, SyncChip, useMe, useRoute } from "examples-page";
import { useState } from "react";

import { Board } from "./Board";
import { Help } from "./Help";
import { bySeat, type Game, inTurn, isOver, type Player, SEATS } from "./model";
import { Rack } from "./Rack";
import { Seat } from "./Seat";

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
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={words} />
      </header>
      {data?.id === id && <Table key={id} id={id} game={data.game} players={data.players} me={me} rename={rename} />}
      {isUnavailable && <main>This game is not on this device yet, and there is no connection.</main>}
    </div>
  );
}

const WORDS: Record<string, string> = {
  join: "take a seat",
  takeBack: "take a tile back",
  finish: "finish the word",
  pass: "pass",
  beginAnew: "begin anew",
};

function words(name: string, args: unknown): string {
  return name === "lay" ? `lay ${(args as { letter: string }).letter}` : (WORDS[name] ?? name);
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
  const over = game !== undefined && isOver(game, players);
  const current = game && !over ? inTurn(game, players) : undefined;
  function layAt(at: number, letter: string | undefined): void {
    if (letter !== undefined && own?.rack.includes(letter)) {
      lay({ game: id, player: me.id, letter, at });
      choose(undefined);
    }
  }
  function onSquare(at: number, isLaid: boolean): void {
    if (isLaid) {
      takeBack({ game: id, player: me.id, at });
    } else if (chosen !== undefined) {
      layAt(at, own?.rack[chosen]);
    }
  }
  return (
    <main>
      <section className="info" aria-label="The game">
        {own === undefined && <p>Two to four players lay words over one board. Everybody sees a tile as soon as it is laid.</p>}
        <Players players={players} current={current} />
        <p className="turn" role="status">
          {turnWords({ own, current, over, players })}
        </p>
        {own === undefined && <Seat game={id} isFull={players.length >= SEATS} me={me} rename={rename} />}
      </section>
      <div className="table">
        <Board game={id} onSquare={onSquare} onLetter={layAt} />
        {own !== undefined && current !== undefined && <Rack game={id} me={own} current={current} chosen={chosen} choose={choose} />}
      </div>
      <section className="more" aria-label="News and help">
        <p className="news" aria-live="polite">
          {game?.news} {game !== undefined && <small>{game.bag.length} tiles left to draw</small>}
        </p>
        {own !== undefined && <BeginAnew game={id} player={me.id} over={over} />}
        <Help />
        <SecondWindow />
      </section>
    </main>
  );
}

interface Turn {
  readonly own: Player | undefined;
  readonly current: Player | undefined;
  readonly over: boolean;
  readonly players: readonly Player[];
}

/** The sentence that says whose turn it is, and what to do in one's own. */
function turnWords({ own, current, over, players }: Turn): string {
  if (over) {
    const best = Math.max(...players.map(({ score }) => score));
    return `The game is over. Won by ${players.filter(({ score }) => score === best).map(({ name }) => name).join(" and ")}.`;
  }
  if (current === undefined) {
    return "Nobody has a seat yet.";
  }
  if (current.id !== own?.id) {
    return `It is ${current.name}'s turn.`;
  }
  return "It is your turn: choose a tile of yours, then a square. “Finish word” when it lies there.";
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

function BeginAnew({ game, player, over }: { game: string; player: string; over: boolean }) {
  const beginAnew = useMutation("beginAnew");
  return (
    <AskButton
      label="Begin anew"
      className={over ? "anew main" : "anew"}
      question="Begin anew?"
      answer="Clear the board"
      onAnswer={() => beginAnew({ game, player })}
    >
      <p>Everybody keeps the seat, and gets new tiles. The board is empty again, and all scores are 0.</p>
    </AskButton>
  );
}
