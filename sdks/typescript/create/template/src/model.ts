/** The schema and the mutators: shared by the page and its test. */

import { Abort, type ClientOf, defineMutators, defineSchema, type Id, mutator, s, table } from "@iolite/client";

export const LONGEST_IDEA = 120;

export const schema = defineSchema({
  ideas: table({
    id: s.id(),
    at: s.int(),
    text: s.string(),
    // Counters never conflict: all likes count.
    likes: s.counter(),
  }).index("byAge", ["at"]),
  choices: table({
    id: s.string(),
    idea: s.string(),
    by: s.string(),
  }),
});

/** There is one choice, so it has a fixed key. */
export const CHOICE = "saturday";

export const mutators = defineMutators(schema, {
  suggest: mutator((tx, { text }: { text: string }) => {
    const said = text.trim();
    if (said === "" || said.length > LONGEST_IDEA) {
      throw new Abort(`An idea has 1 to ${LONGEST_IDEA} characters.`);
    }
    tx.ideas.insert({ id: tx.newId(), at: tx.now(), text: said });
  }),
  // Of two people who choose at the same time, also without a network, one is told that the other was faster.
  choose: mutator((tx, { id, who }: { id: Id; who: string }) => {
    const choice = tx.choices.get(CHOICE);
    if (choice !== undefined) {
      throw new Abort(`${choice.by} has chosen “${choice.idea}” already.`);
    }
    tx.choices.insert({ id: CHOICE, idea: tx.ideas.ref(id).text.get(), by: who });
  }),
});

export type App = ClientOf<typeof mutators>;
