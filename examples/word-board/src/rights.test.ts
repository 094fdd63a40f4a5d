/** The word board's rights: what nobody may do, whatever a page was made to send. Each rule has a test that it refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { rightsTest } from "@iolite/client/rights";

import { SEATS } from "./model.ts";
import { rights } from "./rights.ts";

const game = { id: "g", bag: "abc" };
const seat = (id: string, place: number) => ({ game: "g", id, seat: place, name: id, rack: "xyz" });
const tile = { game: "g", at: 7, letter: "a" };
const table = rightsTest(rights).given({ games: [game], players: [seat("ann", 0), seat("bob", 1)], squares: [tile] });
const ann = table.as({ sub: "ann" });
const eve = table.as({ sub: "eve" });

test("whoever opens a table sits at it, and the game begins at its beginning", () => {
  const first = ["create", "players", { ...seat("eve", 0), game: "h" }] as const;
  eve.may([["create", "games", { ...game, id: "h" }], first]);
  eve.mayNot("create", "games", { ...game, id: "h" });
  for (const unfair of [{ turn: 3 }, { passes: 1 }, { news: "Eve wins" }]) {
    eve.mayNot([["create", "games", { ...game, ...unfair, id: "h" }], first]);
  }
});

test("only players change a game, and nobody removes it", () => {
  ann.may("update", "games", "g", { turn: 1, bag: "ab" }).mayNot("delete", "games", "g");
  eve.mayNot("update", "games", "g", { turn: 1 });
  eve.may([
    ["create", "players", seat("eve", 2)],
    ["update", "games", "g", { bag: "" }],
  ]);
});

test("a seat is taken for oneself, within the table, without points", () => {
  eve.may("create", "players", seat("eve", 2)).mayNot("create", "players", seat("bot", 2));
  eve.mayNot("create", "players", seat("eve", SEATS)).mayNot("create", "players", seat("eve", -1));
  eve.mayNot("create", "players", { ...seat("eve", 2), score: 50 });
});

test("points of others go to 0 and never up, and seats stay", () => {
  ann.may("update", "players", ["g", "ann"], { score: 12, rack: "x" });
  ann.may("update", "players", ["g", "bob"], { score: 0, rack: "" }).mayNot("update", "players", ["g", "bob"], { score: 12 });
  ann.mayNot("update", "players", ["g", "ann"], { seat: 1 }).mayNot("delete", "players", ["g", "bob"]);
  eve.mayNot("update", "players", ["g", "ann"], { rack: "" });
});

test("only players lay tiles and take them back", () => {
  ann.may("create", "squares", { ...tile, at: 8 }).may("delete", "squares", ["g", 7]);
  eve.mayNot("create", "squares", { ...tile, at: 8 }).mayNot("delete", "squares", ["g", 7]);
  ann.mayNot("update", "squares", ["g", 7], { letter: "z" });
  ann.may("update", "laid", "g", { value: { insert: 7 } });
  eve.mayNot("update", "laid", "g", { value: { insert: 7 } });
});

test("everybody may watch", () => {
  assert.deepEqual(eve.sees("squares"), [tile]);
});
