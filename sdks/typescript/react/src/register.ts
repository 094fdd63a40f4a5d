/** Where an app says which client its hooks work on. */

import type { Client, Schema } from "@iolite/client";

/** Extended by the app with `client: typeof client`. */
export interface Register {}

/** The app's client, or one of any schema. */
export type RegisteredClient = Register extends { readonly client: infer C } ? C : Client<Schema, unknown>;

export type RegisteredSchema = RegisteredClient extends Client<infer S, infer _> ? S : never;
