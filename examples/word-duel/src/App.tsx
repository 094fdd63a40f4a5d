/** One game: whose turn it is, the letters, one's own word, and the last round. */

import type { Connection, Ref } from "@iolite/objects";
import { type FormEvent, useState } from "react";

import type { Game } from "../objects.js";
import { type Seen, useGame } from "./useGame";

interface Props {
  readonly game: Ref<Game>;
  readonly player: string;
  readonly connection: Connection;
}

export function App({ game, player, connection }: Props) {
  const { seen, unseen, failed, act } = useGame(game, player, connection);
  return (
    <main>
      <header>
        <h1>Word duel</h1>
        <a href="/">New game</a>
      </header>
      {seen && <p role="status">{stateOf(seen)}</p>}
      {seen && isAlone(seen) && (
        <a href={location.href} target="_blank" rel="noopener">
          Open it in a second window, to play against yourself
        </a>
      )}
      {seen && isOfTwo(seen) && (
        <Letters
          letters={seen.letters}
          isOwnTurn={seen.turn === seen.seat && !unseen}
          play={(word) => act(() => game.play(player, word))}
          pass={() => act(() => game.pass(player))}
        />
      )}
      {failed !== "" && failed !== unseen && <p role="alert">{failed}</p>}
      <Reach connection={connection} unseen={unseen} />
      {seen && seen.last.round > 0 && <LastRound {...seen} />}
    </main>
  );
}

/** Whether the other player is missing. */
function isAlone({ turn, last }: Seen): boolean {
  return turn === -1 && last.round === 0;
}

/** Whether it is somebody's turn. */
function isOfTwo({ turn }: Seen): boolean {
  return turn >= 0;
}

function stateOf(seen: Seen): string {
  const { seat, turn, last } = seen;
  const [own = 0, other = 0] = seat === 1 ? [last.totals[1], last.totals[0]] : last.totals;
  if (isAlone(seen)) return "Send the address of this page to somebody. They are the other player.";
  if (turn === -1) return `The game is over: ${own > other ? "you have won" : own < other ? "the other player has won" : "nobody has won"}, ${own} to ${other}.`;
  if (seat === -1) return "Two others are playing. You watch.";
  return turn === seat ? "It is your turn. The longer your word, the more points." : "It is the other player's turn.";
}

interface LettersProps {
  readonly letters: string;
  readonly isOwnTurn: boolean;
  readonly play: (word: string) => Promise<boolean>;
  readonly pass: () => Promise<boolean>;
}

function Letters({ letters, isOwnTurn, play, pass }: LettersProps) {
  const [word, setWord] = useState("");
  const onPlay = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const own = word.trim().toLowerCase();
    if (isOwnTurn && own !== "" && (await play(own))) setWord("");
  };
  return (
    <form onSubmit={(event) => void onPlay(event)}>
      <div className="letters" role="group" aria-label="The letters">
        {[...letters].map((letter, at) => (
          <button key={at} type="button" onClick={() => setWord(word + letter)}>
            {letter}
          </button>
        ))}
      </div>
      <input value={word} onChange={({ target }) => setWord(target.value)} aria-label="Your word" placeholder="Your word" autoComplete="off" autoCapitalize="none" spellCheck={false} />
      <div className="moves">
        <button className="main" disabled={!isOwnTurn}>Play</button>
        <button type="button" disabled={!isOwnTurn} onClick={() => void pass()}>Pass</button>
      </div>
    </form>
  );
}

/** Whether the game can be reached. One that lives in this page goes on without a network. */
function Reach({ connection, unseen }: { readonly connection: Connection; readonly unseen: string | undefined }) {
  if (connection.state === "ended") return <p role="alert">{connection.message}</p>;
  if (connection.state === "open") return unseen ? <p role="alert">{unseen}</p> : null;
  if (unseen === "") return <p>No connection. This game is on your device, so it goes on.</p>;
  return <p role="alert">No connection.{unseen !== undefined && " The game goes on when the network is back."}</p>;
}

function LastRound({ seat, last }: Seen) {
  const players = seat === 1 ? [1, 0] : [0, 1];
  const names = seat === -1 ? ["The first player", "The second player"] : ["You", "The other player"];
  return (
    <table>
      <caption>Round {last.round}</caption>
      <thead>
        <tr><th scope="col">Player</th><th scope="col">Word</th><th scope="col">Points</th><th scope="col">In all</th></tr>
      </thead>
      <tbody>
        {players.map((player, at) => (
          <tr key={player}><th scope="row">{names[at]}</th><td>{last.words[player] || "passed"}</td><td>{last.points[player]}</td><td>{last.totals[player]}</td></tr>
        ))}
      </tbody>
    </table>
  );
}
