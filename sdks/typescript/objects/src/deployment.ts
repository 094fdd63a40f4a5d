/**
 * The managers that a class can have, and what an app says to them.
 *
 * Invariant: what a function returns is the text by which all languages know the manager. Whether managers fit together is looked at when a host starts.
 */

import { type Ref, type RefName, refTargetOf } from "./refs.js";

const KEEP_IN_CLOUD = "KeepInCloud";

/** A manager that is built in, with its settings. Managers of an app's own are written in Rust, and hosts in TypeScript have none. */
export type ManagerText = string;

/** Calls are repeated until one has run, for at most `withinMs` (5,000). A method may run more than once. */
export function atLeastOnceRpc({ withinMs }: { readonly withinMs?: number } = {}): ManagerText {
  return text("AtLeastOnceRPC", { within: withinMs });
}

/** One caller at a time has the object for `leaseMs` (5,000), and its methods run there. */
export function leaseCaching({ leaseMs }: { readonly leaseMs?: number } = {}): ManagerText {
  return text("LeaseCaching", { lease: leaseMs });
}

/** Any node that has the class keeps a copy for good. Methods that write are refused. */
export function immutable(): ManagerText {
  return "Immutable";
}

/** A node works on its own copy, between `pull` and `push`. */
export function explicitCaching(): ManagerText {
  return "ExplicitCaching";
}

/** Nodes read copies that never go back. Writes go to the object, and a node sees its own at once. */
export function writeThroughCaching({ leaseMs }: { readonly leaseMs?: number } = {}): ManagerText {
  return text("WriteThroughCaching", { lease: leaseMs });
}

/** Nodes read copies. A write waits until every copy has stopped, so nobody reads anything older after it. */
export function consistentCaching({ leaseMs }: { readonly leaseMs?: number } = {}): ManagerText {
  return text("ConsistentCaching", { lease: leaseMs });
}

/** One call at a time, reads too, in the order in which they come. */
export function serializableRpc(): ManagerText {
  return "SerializableRPC";
}

/** `copies` (3) of the object take the calls in turn, and a lost one is replaced. Nothing keeps them the same. */
export function loadBalancedFrontEnd({ copies }: { readonly copies?: number } = {}): ManagerText {
  return text("LoadBalancedFrontEnd", { copies });
}

/** From `begin` to `commit` the object is this node's alone, for at most `lockMs` (5,000). */
export function lockingTransactions({ lockMs }: { readonly lockMs?: number } = {}): ManagerText {
  return text("LockingTransactions", { lock: lockMs });
}

/** From `begin` to `commit` a node works on a copy. Of two that conflict one commits. */
export function optimisticTransactions(): ManagerText {
  return "OptimisticTransactions";
}

/** Only nodes of the service have the object. */
export function keepInCloud(): ManagerText {
  return KEEP_IN_CLOUD;
}

/** Whether the managers of a class, in their text, leave its objects to nodes of the service. */
export function isKeptInCloud(managers: string): boolean {
  return managers.split("; ").includes(KEEP_IN_CLOUD);
}

/** The object lives on the device that uses it: it goes to one that calls it `after` (3) times in a row, and then stays for `restMs` (5,000) at least. */
export function keepOnDevice({ after, restMs }: { readonly after?: number; readonly restMs?: number } = {}): ManagerText {
  return text("KeepOnDevice", { after, rest: restMs });
}

/** The object stays where it began, also if its node is lost. */
export function keepInPlace(): ManagerText {
  return "KeepInPlace";
}

/** The object moves when `moveTo` says so. */
export function explicitMigration(): ManagerText {
  return "ExplicitMigration";
}

/** Has an object with `explicitMigration` go to a node, which is the `node` of its host. Resolves when it is there. */
export async function moveTo(object: Ref<object> | RefName, node: string): Promise<void> {
  await say(object, "ExplicitMigration", node);
}

/** Has this node's copy of an object with `explicitCaching` be the object's state as it is now. What was not pushed is lost. */
export async function pull(object: Ref<object> | RefName): Promise<void> {
  await say(object, "ExplicitCaching", "pull");
}

/** Has the object be as this node's copy is. Rejects with reason `conflict` if another node has pushed since the last pull; the copy stays. */
export async function push(object: Ref<object> | RefName): Promise<void> {
  await say(object, "ExplicitCaching", "push");
}

/** The name of the transactions that a class has. */
export type Transactions = "LockingTransactions" | "OptimisticTransactions";

/** Begins a transaction of this node: its further calls of the object are part of it. */
export async function begin(object: Ref<object> | RefName, transactions: Transactions): Promise<void> {
  await say(object, transactions, "begin");
}

/** Ends the transaction, and has the object be as it left it. Rejects with reason `conflict` if that cannot be. */
export async function commit(object: Ref<object> | RefName, transactions: Transactions): Promise<void> {
  await say(object, transactions, "commit");
}

/** Ends the transaction, of which nothing is left. */
export async function abort(object: Ref<object> | RefName, transactions: Transactions): Promise<void> {
  await say(object, transactions, "abort");
}

async function say(object: RefName, manager: string, word: string): Promise<void> {
  const target = refTargetOf(object);
  if (target === undefined) {
    throw new TypeError("a manager is told something about a reference to an object");
  }
  await target.caller.manage(target, manager, word);
}

function text(name: string, settings: Readonly<Record<string, number | undefined>>): ManagerText {
  const said = Object.entries(settings).filter(([, value]) => value !== undefined);
  for (const [setting, value] of said) {
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw new TypeError(`${name}: ${setting} is a whole number, not ${String(value)}`);
    }
  }
  return [name, ...said.map(([setting, value]) => `${setting}=${value}`)].join(" ");
}
