/** Mutations in plain words. */

import type { Piece } from "../schema";
import { euros, kindOf } from "../plan/catalogue";
import { metres } from "../plan/geometry";

/** What a piece is called now; it may be gone. */
export type NameOf = (id: string) => string | undefined;

interface Arguments extends Partial<Piece> {
  readonly tag?: string;
  readonly text?: string;
  readonly budget?: number;
  readonly width?: number;
  readonly depth?: number;
}

type Words = (args: Arguments, piece: string) => string;

const WORDS: Record<string, Words> = {
  openRoom: (args) => `Open the room “${args.name}”`,
  renameRoom: (args) => `Name the room “${args.name}”`,
  resizeRoom: (args) => `Make the room ${metres(args.width ?? 0)} by ${metres(args.depth ?? 0)} m`,
  setBudget: (args) => `Set the budget to ${euros(args.budget ?? 0)}`,
  likeRoom: () => "Like the room",
  tagRoom: (args) => `Tag the room “${args.tag}”`,
  untagRoom: (args) => `Take away the tag “${args.tag}”`,
  addPiece: (args) => `Add ${args.name ?? kindOf(args.kind ?? "").label}`,
  removePiece: (_, piece) => `Remove ${piece}`,
  movePiece: (args, piece) => `Move ${piece} to ${metres(args.x ?? 0)}, ${metres(args.y ?? 0)} m`,
  turnPiece: (_, piece) => `Turn ${piece}`,
  colourPiece: (args, piece) => `Paint ${piece} ${args.colour}`,
  renamePiece: (args) => `Call a piece “${args.name}”`,
  lockPiece: (args, piece) => `${args.locked ? "Lock" : "Unlock"} ${piece}`,
  say: (args) => `Say “${args.text}”`,
};

export function mutationWords(name: string | undefined, args: unknown, nameOf: NameOf): string {
  const given = (args ?? {}) as Arguments;
  const piece = nameOf(given.id ?? "") ?? "a piece";
  const words = WORDS[name ?? ""];
  return words ? words(given, piece) : (name ?? "A change");
}
