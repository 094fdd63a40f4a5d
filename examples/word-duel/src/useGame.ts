/** A game as a page sees it, and the moves of its player. */

import type { Connection, Ref } from "@iolite/objects";
import { useCallback, useEffect, useRef, useState } from "react";

import type { Game } from "../objects.js";
import { problemOf, UNREACHABLE } from "./problemOf";

/** How often the page looks, in milliseconds. */
const LOOK_EVERY_MS = 1000;

export interface Seen {
  /** This player's seat: 0 or 1, or -1 for somebody who watches. */
  readonly seat: number;
  readonly letters: string;
  /** The seat whose turn it is, or -1. */
  readonly turn: number;
  readonly last: Game["last"];
}

/** The problem of a look, or "", and the connection under which it was. */
interface Look {
  readonly connection: Connection;
  readonly problem: string;
}

export function useGame(game: Ref<Game>, player: string, connection: Connection) {
  const [seen, setSeen] = useState<Seen>();
  const [last, setLast] = useState<Look>();
  /** The problem of the player's last move. */
  const [failed, setFailed] = useState("");
  const seat = useRef<number>(undefined);

  const look = useCallback(async () => {
    let problem = "";
    try {
      seat.current ??= await game.join(player);
      // In this order: who sees a round's end sees the letters of the next one.
      const [last, turn, letters] = await Promise.all([game.getLastRoundStats(), game.getPlayerTurn(), game.getScrambleLetters()]);
      setSeen({ seat: seat.current, letters, turn, last });
      setFailed((failed) => (failed === UNREACHABLE ? "" : failed));
    } catch (error) {
      problem = problemOf(error);
    }
    setLast({ connection, problem });
  }, [game, player, connection]);

  useEffect(() => {
    void look();
    const looking = setInterval(() => void (document.hidden || look()), LOOK_EVERY_MS);
    return () => clearInterval(looking);
  }, [look]);

  /** Resolves to whether it was done. */
  const act = async (move: () => Promise<void>): Promise<boolean> => {
    const problem = await move().then(() => "", problemOf);
    setFailed(problem);
    await look();
    return problem === "";
  };

  /** Undefined while nobody knows: the connection has changed since. */
  const unseen = last?.connection === connection ? last.problem : undefined;
  return { seen, unseen, failed, act };
}
