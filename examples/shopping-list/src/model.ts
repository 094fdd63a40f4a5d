import { Abort, type ClientOf, defineMutators, defineSchema, type Id, mutator, s, table } from "@iolite/client";

export const schema = defineSchema({
  items: table({
    id: s.id(),
    at: s.int(),
    what: s.register(s.string()),
    bought: s.register(s.bool()),
    taker: s.string().default(""),
    takerId: s.string().default(""),
  }).index("openFirst", ["bought", "at"]),
});

export const mutators = defineMutators(schema, {
  add: mutator((tx, { what }: { what: string }) => {
    tx.items.insert({ id: tx.newId(), at: tx.now(), what, bought: false });
  }),
  take: mutator((tx, { id, who, me }: { id: Id; who: string; me: string }) => {
    const { taker, takerId, what } = tx.items.ref(id);
    if (taker.get() !== "") {
      throw new Abort(`${taker.get()} gets ${what.get()} already.`);
    }
    taker.set(who);
    takerId.set(me);
  }),
});

export type App = ClientOf<typeof mutators>;
