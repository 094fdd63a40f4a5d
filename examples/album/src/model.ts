/** An album: each photo is one row, with its picture and its thumbnail. */

import { type BlobValue, type ClientOf, defineMutators, defineSchema, type Id, mutator, s, table } from "@iolite/client";

export const schema = defineSchema({
  photos: table({
    id: s.id(),
    at: s.int(),
    name: s.string(),
    /** Such as `image/jpeg`. */
    type: s.string(),
    photo: s.blob({ fetch: "on-demand" }),
    thumbnail: s.blob({ fetch: "on-demand" }),
  }).index("newest", ["at"]),
});

export interface NewPhoto {
  readonly name: string;
  readonly type: string;
  readonly photo: BlobValue;
  readonly thumbnail: BlobValue;
}

export const mutators = defineMutators(schema, {
  add: mutator((tx, photo: NewPhoto) => {
    tx.photos.insert({ id: tx.newId(), at: tx.now(), ...photo });
  }),
  remove: mutator((tx, { id }: { id: Id }) => {
    tx.photos.delete(id);
  }),
});

export type App = ClientOf<typeof mutators>;

declare module "@iolite/react" {
  interface Register {
    client: App;
  }
}
