/**
 * What Murmur stores, and all that can be done: the model of Retwis, Redis's example of a Twitter clone. A post goes into the timeline of everybody who follows
 * its author at that moment, in one transaction. Timelines are lists in commit order, likes a counter: neither ever makes two people wait for each other.
 */

import { Abort, type ClientOf, defineMutators, defineSchema, live, mutator, type RowOf, s, table } from "@iolite/client";

const LONGEST = 200;

export const schema = defineSchema({
  users: table({ id: s.string(), followers: s.set(s.string()), following: s.set(s.string()) }),
  posts: table({ id: s.string(), by: s.string(), text: s.string(), at: s.int(), likes: s.counter(), likedBy: s.set(s.string()) }),
  /** What a user wrote, and what one reads: one's own posts, and those of whom one follows. */
  walls: live(s.list(s.string(), { order: "commit" })),
  timelines: live(s.list(s.string(), { order: "commit" })),
});

export type Post = RowOf<typeof schema.tables.posts>;
export type User = RowOf<typeof schema.tables.users>;

export const mutators = defineMutators(schema, {
  join: mutator((tx, user: string) => {
    if (!tx.users.has(user)) {
      tx.users.insert({ id: user });
    }
  }),
  follow: mutator((tx, { user, other }: { user: string; other: string }) => {
    if (!tx.users.has(other)) {
      throw new Abort(`There is no ${other}.`);
    }
    tx.users.ref(user).following.add(other);
    tx.users.ref(other).followers.add(user);
  }),
  unfollow: mutator((tx, { user, other }: { user: string; other: string }) => {
    tx.users.ref(user).following.delete(other);
    tx.users.ref(other).followers.delete(user);
  }),
  post: mutator((tx, { id, by, text }: Pick<Post, "id" | "by" | "text">) => {
    if (text.length > LONGEST) {
      throw new Abort(`A post has at most ${LONGEST} characters.`);
    }
    tx.posts.insert({ id, by, text, at: tx.now() });
    tx.walls.ref(by).push(id);
    for (const reader of [by, ...tx.users.ref(by).followers.get()]) {
      tx.timelines.ref(reader).push(id);
    }
  }),
  /** Once for each user, and a second time takes it back. */
  like: mutator((tx, { post, user }: { post: string; user: string }) => {
    const { likes, likedBy } = tx.posts.ref(post);
    if (likedBy.has(user)) {
      likedBy.delete(user);
      likes.decrement();
    } else {
      likedBy.add(user);
      likes.increment();
    }
  }),
});

declare module "@iolite/react" {
  interface Register {
    client: ClientOf<typeof mutators>;
  }
}
