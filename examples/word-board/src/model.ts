/**
 * What the game stores. Every square is a row of its own, so that a tile shows everywhere as soon as somebody lays it; the rest is plain values, because the
 * rules rest on them: a mutator whose reads are no longer true runs again, so no two people ever draw one tile.
 */

import { type ClientOf, defineSchema, live, type RowOf, s, table } from "@iolite/client";

import type { mutators } from "./mutators.ts";

export const schema = defineSchema({
  /** `bag`: the tiles that nobody has drawn, the next one last. `turn` counts up; `passes` since the last word. */
  games: table({ id: s.string(), bag: s.string(), turn: s.int().default(0), passes: s.int().default(0), news: s.string().default("") }),
  /** `id`: the user, as the token names them. */
  players: table({
    game: s.string(),
    id: s.string(),
    seat: s.int(),
    name: s.string(),
    rack: s.string(),
    score: s.int().default(0),
  }).key("game", "id"),
  /** The tiles that lie on the board. */
  squares: table({ game: s.string(), at: s.int(), letter: s.string() }).key("game", "at"),
  /** The squares of a game whose tiles may be taken back: those of the move that is being made. */
  laid: live(s.set(s.int())),
});

export type Game = RowOf<typeof schema.tables.games>;
export type Player = RowOf<typeof schema.tables.players>;

export const SEATS = 4;

/** Who has the turn, of players in the order of their seats. */
export function inTurn(game: Game, players: readonly Player[]): Player | undefined {
  return players[game.turn % Math.max(players.length, 1)];
}

export function bySeat(players: readonly Player[]): readonly Player[] {
  return [...players].sort((a, b) => a.seat - b.seat);
}

export function isOver(game: Game, players: readonly Player[]): boolean {
  const playedOut = game.bag === "" && players.some(({ rack }) => rack === "");
  return playedOut || (players.length > 0 && game.passes >= 2 * players.length);
}

declare module "@iolite/react" {
  interface Register {
    client: ClientOf<typeof mutators>;
  }
}
