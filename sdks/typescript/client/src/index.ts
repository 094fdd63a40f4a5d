/** The client for browsers and Node: a schema, mutators, and a client that keeps both in step with a server. */

export { blobOf } from "./blob/blobOf.js";
export type { BlobPart, Blobs, BlobSource, BlobState, OpenBlob } from "./blob/blobs.js";
export type { Conflicts, ConflictsOf, OpenConflict, RowConflict } from "./conflicts/types.js";
export { BlobValue } from "./blob/value.js";
export { createClient } from "./client/createClient.js";
export { type DevelopmentServer, developmentServer } from "./client/developmentServer.js";
export type {
  Addresses,
  Client,
  ClientOf,
  ClientOptions,
  ConnectionState,
  DevelopmentUser,
  Difference,
  DifferenceOptions,
  Log,
  LogMember,
  Mutate,
  MutationHandle,
  MutationId,
  MutationStatus,
  Observation,
  OptionsOfApp,
  PendingMutation,
  PendingStatus,
  Reactive,
  ReactOptions,
  RefusedMutation,
  ServerOptions,
  SettledMutation,
  SettledStatus,
  SignOutOptions,
  Stop,
  TokenFunction,
  View,
} from "./client/types.js";
export {
  Abort,
  type ErrorCode,
  IntegerRangeError,
  IoliteError,
  MutationError,
  SchemaError,
  TransactionError,
} from "./errors.js";
export { asId, type Id, newId } from "./id.js";
export { type ArgumentsOf, defineMutators, type InputOf, type Mutator, mutator, Mutators, type Parser } from "./mutators.js";
export {
  type BlobOptions,
  Column,
  CounterColumn,
  ListColumn,
  MapColumn,
  RegisterColumn,
  s,
  ScalarColumn,
  SetColumn,
  type SetOptions,
  TextColumn,
} from "./schema/column.js";
export type * from "./live/types.js";
export type { ChangesOf, NewRowOf, RowOf } from "./schema/row.js";
export { defineLog, type InstanceOf, LogDefinition, operation } from "./schema/log.js";
export type { ManualOptions, MergeOptions } from "./schema/merging.js";
export { defineSchema, Schema } from "./schema/schema.js";
export { type KeyOf, type KeyPrefixOf, live, LiveTable, table, Table } from "./schema/table.js";
export { areEqual, shared } from "./transaction/equality.js";
export type * from "./transaction/query.js";
export type * from "./transaction/types.js";
export { default as loadCore, initSync as loadCoreFromBytes, version } from "./wasm/iolite_wasm.js";
