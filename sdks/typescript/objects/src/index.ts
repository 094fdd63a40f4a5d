/** Objects that run anywhere, for pages and Node: a class, a host, and references whose methods are called wherever the object is. */

export { CallError, type CallErrorKind, type NotRunReason, type Ran } from "./callError.js";
export { ValueError } from "./cbor/encode.js";
export { context } from "./context.js";
export { args, read, sapphire } from "./define/decorators.js";
export { type ClassOptions, type DefineOptions, defineObject, type Devices, type ObjectClass } from "./define/definition.js";
export { connectObjects } from "./host/connectObjects.js";
export type { Connection, ConnectOptions, DevelopmentUser, ObjectHost, TokenFunction } from "./host/types.js";
export {
  abort,
  atLeastOnceRpc,
  begin,
  commit,
  consistentCaching,
  explicitCaching,
  explicitMigration,
  immutable,
  keepInCloud,
  keepInPlace,
  keepOnDevice,
  leaseCaching,
  loadBalancedFrontEnd,
  lockingTransactions,
  type ManagerText,
  moveTo,
  optimisticTransactions,
  pull,
  push,
  serializableRpc,
  type Transactions,
  writeThroughCaching,
} from "./deployment.js";
export type { MethodName, Ref, RefName } from "./refs.js";
export type { Context } from "./runs.js";
export type { Parser } from "@iolite/client";
