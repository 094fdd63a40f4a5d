/** The app of the guides: what it stores, and what can be done. */

import { Abort, type ClientOf, defineMutators, defineSchema, type Id, live, mutator, type RowOf, s, table } from "@iolite/client";

export const schema = defineSchema({
  projects: table({
    id: s.string(),
    name: s.register(s.string()),
    budget: s.int().default(0),
    spent: s.counter(),
  }),
  tasks: table({
    id: s.id(),
    project: s.string(),
    createdAt: s.int(),
    title: s.register(s.string()),
    done: s.register(s.bool()),
    assignee: s.string().default(""),
    labels: s.set(s.string()),
    notes: s.text(),
  })
    .index("byProject", ["project", "createdAt"])
    .index("byAssignee", ["assignee", "done"]),
  likes: live(s.counter()),
});

export type Task = RowOf<typeof schema.tables.tasks>;

export const mutators = defineMutators(schema, {
  openProject: mutator((tx, { id, name, budget }: { id: string; name: string; budget: number }) => {
    if (!tx.projects.has(id)) {
      tx.projects.insert({ id, name, budget });
    }
  }),
  addTask: mutator((tx, { project, title }: { project: string; title: string }) => {
    if (title.trim() === "") {
      throw new Abort("A task needs a title.");
    }
    tx.tasks.insert({ id: tx.newId(), project, createdAt: tx.now(), title, done: false });
  }),
  take: mutator((tx, { id, who }: { id: Id; who: string }) => {
    const { assignee } = tx.tasks.ref(id);
    if (assignee.get() !== "" && assignee.get() !== who) {
      throw new Abort(`${assignee.get()} has it already.`);
    }
    assignee.set(who);
  }),
  spend: mutator((tx, { project, amount }: { project: string; amount: number }) => {
    const { budget, spent } = tx.projects.ref(project);
    if (spent.get() + amount > budget.get()) {
      throw new Abort(`Only ${budget.get() - spent.get()} of the budget is left.`);
    }
    spent.increment(amount);
  }),
});

export type TasksClient = ClientOf<typeof mutators>;
