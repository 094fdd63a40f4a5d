/** The one class of the app: a game of two players. Without a manager it lives in Node: `iolite dev --objects examples/word-duel/objects.js`. */

import * as iolite from "@iolite/objects";

import { RACKS, WORDS } from "./words.js";

const deployment = {}; // or { devices: "hold", managers: [iolite.keepOnDevice({ after: 12 })] }: the game lives in the page that uses it

/** After so many rounds the game is over. */
const ROUNDS = 5;
const NOBODY = -1;

export class Game {
  /** The names that the players' pages have drawn. @type {string[]} */
  players = [];
  /** The rack of the first round. */
  begin = Math.floor(Math.random() * RACKS.length);
  letters = shuffled(RACKS[this.begin]);
  /** What was played in this round: one word of each player, or "" for none. @type {{ by: number, word: string }[]} */
  played = [];
  last = { round: 0, words: ["", ""], points: [0, 0], totals: [0, 0] };

  /** Gives the player a seat, 0 or 1, or the one that they have; -1 if both are taken. @param {string} player */
  join(player) {
    if (!this.players.includes(player) && this.players.length < 2) this.players.push(player);
    return this.players.indexOf(player);
  }

  getScrambleLetters() {
    return this.letters;
  }

  /** The seat whose turn it is; -1 while a player is missing, and when the game is over. */
  getPlayerTurn() {
    if (this.players.length < 2 || this.last.round === ROUNDS) return NOBODY;
    // Who begins a round ends the next one.
    return (this.last.round + this.played.length) % 2;
  }

  /** Of round 0 before the first one has ended. */
  getLastRoundStats() {
    return this.last;
  }

  /** @param {string} player @param {string} word */
  play(player, word) {
    const seat = this._seatInTurn(player);
    if (!isOf(word, this.letters)) throw new Error(`“${word}” is not of these letters`);
    if (!WORDS.has(word)) throw new Error(`“${word}” is not in the list of words`);
    this._end(seat, word);
  }

  /** @param {string} player */
  pass(player) {
    this._end(this._seatInTurn(player), "");
  }

  /** @param {string} player */
  _seatInTurn(player) {
    const seat = this.players.indexOf(player);
    if (seat === NOBODY || seat !== this.getPlayerTurn()) throw new Error("It is not your turn");
    return seat;
  }

  /** Ends a turn, and the round with its second one. @param {number} by @param {string} word */
  _end(by, word) {
    this.played.push({ by, word });
    if (this.played.length < 2) return;
    const words = [0, 1].map((seat) => this.played.find((one) => one.by === seat)?.word ?? "");
    const points = words.map((one) => one.length);
    const totals = points.map((of, seat) => of + (this.last.totals[seat] ?? 0));
    const round = this.last.round + 1;
    this.last = { round, words, points, totals };
    this.played = [];
    this.letters = shuffled(RACKS[(this.begin + round) % RACKS.length]);
  }
}

/** @param {string} word @param {string} letters */
function isOf(word, letters) {
  const left = [...letters];
  return [...word].every((letter) => left.includes(letter) && left.splice(left.indexOf(letter), 1));
}

/** @param {string} word */
function shuffled(word = "") {
  const letters = [...word].map((letter) => ({ letter, at: Math.random() }));
  return letters.sort((one, other) => one.at - other.at).map(({ letter }) => letter).join("");
}

iolite.defineObject("Game", Game, { ...deployment, read: ["getScrambleLetters", "getPlayerTurn", "getLastRoundStats"] });
