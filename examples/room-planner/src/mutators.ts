/**
 * Everything that people can do here. A mutator runs at once on the device that called it, waits in its durable queue, and
 * runs again on newer data if what it read has changed before it took effect. So a rule is an `if` on what the mutator reads:
 * it holds for everyone, also for two people who were offline at the same time.
 */

import { Abort, defineMutators, mutator, type WriteTransaction } from "@iolite/client";

import { euros, kindOf } from "./plan/catalogue";
import { schema, type Piece } from "./schema";
import { starterPieces, starterRoom } from "./rooms/starter";

type Transaction = WriteTransaction<typeof schema>;
type Named = Pick<Piece, "room" | "id">;

export const mutators = defineMutators(schema, {
  /** A new room with the first furniture. Two people who open it at once make one. */
  openRoom: mutator((tx, args: { room: string; name: string; furnished: boolean }) => {
    if (tx.rooms.has(args.room)) {
      return;
    }
    const pieces = args.furnished ? starterPieces(args.room) : [];
    const spent = pieces.reduce((sum, piece) => sum + kindOf(piece.kind).price, 0);
    tx.rooms.insert({ ...starterRoom, id: args.room, name: args.name, spent });
    pieces.forEach((piece) => tx.furniture.insert(piece));
  }),
  renameRoom: mutator((tx, args: { room: string; name: string }) => {
    tx.rooms.update(args.room, { name: args.name });
  }),
  resizeRoom: mutator((tx, args: { room: string; width: number; depth: number }) => {
    tx.rooms.update(args.room, { width: args.width, depth: args.depth });
  }),
  setBudget: mutator((tx, args: { room: string; budget: number }) => {
    const spent = tx.rooms.ref(args.room).spent.get();
    if (args.budget < spent) {
      throw new Abort(`${euros(spent)} is spent already, more than ${euros(args.budget)}.`);
    }
    tx.rooms.update(args.room, { budget: args.budget });
  }),
  likeRoom: mutator((tx, args: { room: string }) => {
    tx.rooms.ref(args.room).likes.increment(1);
  }),
  tagRoom: mutator((tx, args: { room: string; tag: string }) => {
    tx.rooms.ref(args.room).tags.add(args.tag);
  }),
  untagRoom: mutator((tx, args: { room: string; tag: string }) => {
    tx.rooms.ref(args.room).tags.delete(args.tag);
  }),

  /** It reads the budget, so two people who spend the last of it at once cannot both succeed. */
  addPiece: mutator((tx, piece: Piece) => {
    const { price } = kindOf(piece.kind);
    const { budget, spent } = tx.rooms.ref(piece.room);
    const left = budget.get() - spent.get();
    if (price > left) {
      throw new Abort(`It costs ${euros(price)}, and ${euros(Math.max(0, left))} of the budget is left.`);
    }
    spent.increment(price);
    tx.furniture.insert(piece);
  }),
  /** It reads nothing that others change often, so it never waits for them. */
  removePiece: mutator((tx, args: Named) => {
    const piece = unlocked(tx, args);
    tx.rooms.ref(args.room).spent.decrement(kindOf(piece.kind.get()).price);
    tx.furniture.delete([args.room, args.id]);
  }),
  movePiece: mutator((tx, args: Named & Pick<Piece, "x" | "y">) => {
    const piece = unlocked(tx, args);
    piece.x.set(args.x);
    piece.y.set(args.y);
  }),
  turnPiece: mutator((tx, args: Named & Pick<Piece, "turn">) => {
    unlocked(tx, args).turn.set(args.turn);
  }),
  colourPiece: mutator((tx, args: Named & Pick<Piece, "colour">) => {
    present(tx, args).colour.set(args.colour);
  }),
  renamePiece: mutator((tx, args: Named & Pick<Piece, "name">) => {
    present(tx, args).name.set(args.name);
  }),
  lockPiece: mutator((tx, args: Named & Pick<Piece, "locked">) => {
    present(tx, args).locked.set(args.locked);
  }),

  say: mutator((tx, args: { room: string; id: string; author: string; by: string; text: string }) => {
    tx.messages.insert({ ...args, at: tx.now() });
  }),
});

/** The cells of a piece that is still there. */
function present(tx: Transaction, { room, id }: Named) {
  if (!tx.furniture.has([room, id])) {
    throw new Abort("Somebody has removed it.");
  }
  return tx.furniture.ref([room, id]);
}

function unlocked(tx: Transaction, named: Named) {
  const piece = present(tx, named);
  if (piece.locked.get()) {
    throw new Abort(`Somebody has locked “${piece.name.get()}”.`);
  }
  return piece;
}
