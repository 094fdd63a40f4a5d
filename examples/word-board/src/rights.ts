/**
 * The word board's rights, for `iolite dev --rights`. Everybody may watch, and take a seat for themselves. Only who has a seat in a game changes it.
 * The rules of the game are in the mutators. A player who writes past them can cheat, as at a real table, but only in games with a seat of their own.
 */

import { defineRights, everybody, user } from "@iolite/client/rights";

import { schema, SEATS } from "./model.ts";

export const rights = defineRights(schema, {
  tables: {
    games: {
      read: everybody,
      // Whoever opens a table takes its first seat in the same step.
      create: ({ row, after }) => after.players(row.id, user.sub).exists().and(row.turn.is(0), row.passes.is(0), row.news.is("")),
      // `after`: who takes a seat draws from the bag in the same step.
      update: ({ old, after }) => after.players(old.id, user.sub).exists(),
    },
    players: {
      read: everybody,
      create: ({ row }) => row.id.is(user.sub).and(row.seat.atLeast(0), row.seat.less(SEATS), row.score.is(0)),
      // One's own tiles and points. Of others: the tiles, since anybody skips who is gone, and points go to 0 when a game begins anew.
      update: ({ old, ops, at }) =>
        at
          .players(old.game, user.sub)
          .exists()
          .and(old.id.is(user.sub).and(ops.only({ rack: ops.any, score: ops.any })).or(ops.only({ rack: ops.any, score: ops.put(0) }))),
    },
    squares: {
      read: everybody,
      create: ({ row, at }) => at.players(row.game, user.sub).exists(),
      delete: ({ old, at }) => at.players(old.game, user.sub).exists(),
    },
    laid: {
      read: everybody,
      update: ({ row, at }) => at.players(row.key, user.sub).exists(),
    },
  },
});
