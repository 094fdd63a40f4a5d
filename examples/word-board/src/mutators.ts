/** The rules. Each is an `if` on what is true when the move takes effect, also for somebody who made it without a network. */

import { Abort, defineMutators, mutator, type WriteTransaction } from "@iolite/client";

import { mixedBag, RACK } from "./letters";
import { bySeat, inTurn, isOver, schema, SEATS } from "./model";
import { scoreOf } from "./score";

type Transaction = WriteTransaction<typeof schema>;
interface Move {
  readonly game: string;
  readonly player: string;
}

export const mutators = defineMutators(schema, {
  join: mutator((tx, { game, player, name }: Move & { name: string }) => {
    const bag = tx.games.get(game)?.bag ?? mixedBag(() => tx.random());
    const seat = tx.players.range({ prefix: [game] }).length;
    if (tx.players.has([game, player])) {
      return;
    }
    if (seat >= SEATS) {
      throw new Abort("All seats are taken.");
    }
    if (!tx.games.has(game)) {
      tx.games.insert({ id: game, bag });
    }
    tx.players.insert({ game, id: player, seat, name, rack: "" });
    draw(tx, game, player);
  }),

  lay: mutator((tx, { game, player, letter, at }: Move & { letter: string; at: number }) => {
    mustHaveTurn(tx, { game, player });
    const rack = tx.players.ref([game, player]).rack;
    if (tx.squares.has([game, at])) {
      throw new Abort("There is a tile already.");
    }
    if (!rack.get().includes(letter)) {
      throw new Abort(`You have no ${letter}.`);
    }
    rack.set(rack.get().replace(letter, ""));
    tx.squares.insert({ game, at, letter });
    tx.laid.ref(game).add(at);
  }),

  takeBack: mutator((tx, { game, player, at }: Move & { at: number }) => {
    mustHaveTurn(tx, { game, player });
    if (!tx.laid.ref(game).has(at)) {
      throw new Abort("This tile stays.");
    }
    toRack(tx, { game, player }, at);
  }),

  finish: mutator((tx, { game, player }: Move) => {
    const { name } = mustHaveTurn(tx, { game, player });
    const laid = tx.laid.ref(game).get();
    const score = scoreOf((at) => tx.squares.get([game, at])?.letter ?? "", laid);
    if (typeof score === "string") {
      throw new Abort(score);
    }
    laid.forEach((at) => tx.laid.ref(game).delete(at));
    const { score: total } = tx.players.ref([game, player]);
    total.set(total.get() + score.points);
    draw(tx, game, player);
    next(tx, game, `${name}: ${score.words.join(", ")} for ${score.points}`, 0);
  }),

  /** Anybody may say that whoever has the turn does not use it: they may be gone. */
  pass: mutator((tx, { game, player }: Move) => {
    const { name } = mustHaveTurn(tx, { game, player });
    tx.laid.ref(game).get().forEach((at) => toRack(tx, { game, player }, at));
    next(tx, game, `${name} passed`, tx.games.ref(game).passes.get() + 1);
  }),

  /** Everybody who has a seat may begin anew. The others see it at once. */
  beginAnew: mutator((tx, { game, player }: Move) => {
    const players = bySeat(tx.players.range({ prefix: [game] }));
    const by = players.find(({ id }) => id === player);
    if (by === undefined) {
      throw new Abort("Only who has a seat may begin anew.");
    }
    for (const { at } of tx.squares.range({ prefix: [game] })) {
      tx.squares.delete([game, at]);
    }
    const laid = tx.laid.ref(game);
    laid.get().forEach((at) => laid.delete(at));
    tx.games.update(game, { bag: mixedBag(() => tx.random()), turn: 0, passes: 0, news: `${by.name} began anew` });
    for (const { id } of players) {
      tx.players.update([game, id], { rack: "", score: 0 });
      draw(tx, game, id);
    }
  }),
});

function mustHaveTurn(tx: Transaction, { game, player }: Move) {
  const row = tx.games.get(game);
  const players = bySeat(tx.players.range({ prefix: [game] }));
  const current = row && inTurn(row, players);
  if (row === undefined || current === undefined || isOver(row, players)) {
    throw new Abort("The game is over.");
  }
  if (current.id !== player) {
    throw new Abort(`It is ${current.name}'s turn.`);
  }
  return current;
}

function toRack(tx: Transaction, { game, player }: Move, at: number): void {
  const { rack } = tx.players.ref([game, player]);
  rack.set(rack.get() + tx.squares.ref([game, at]).letter.get());
  tx.squares.delete([game, at]);
  tx.laid.ref(game).delete(at);
}

function draw(tx: Transaction, game: string, player: string): void {
  const { bag } = tx.games.ref(game);
  const { rack } = tx.players.ref([game, player]);
  const left = Math.max(0, bag.get().length - (RACK - rack.get().length));
  rack.set(rack.get() + bag.get().slice(left));
  bag.set(bag.get().slice(0, left));
}

function next(tx: Transaction, game: string, news: string, passes: number): void {
  const { turn } = tx.games.ref(game);
  tx.games.update(game, { turn: turn.get() + 1, news, passes });
}
