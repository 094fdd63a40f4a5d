/** The object that a closure gets. */

import { TransactionError } from "../errors.js";
import type { TableBinding } from "./binding.js";
import { withKnownNames } from "./knownNames.js";
import type { Scope } from "./scope.js";
import { TableAccess } from "./tableAccess.js";

/** Makes the transaction of one run; tables are made when they are first asked for. */
export function transactionOf(scope: Scope, tables: readonly TableBinding[]): object {
  const transaction = {
    now: () => scope.call("callTime"),
    newId: () => scope.call("newId"),
    random: () => scope.call("random"),
  };
  Object.defineProperty(transaction, "instance", { enumerable: false, get: () => instanceOf(scope) });
  for (const table of tables) {
    let access: TableAccess | undefined;
    const get = (): TableAccess => (access ??= new TableAccess(scope, table));
    Object.defineProperty(transaction, table.name, { enumerable: true, get });
  }
  return withKnownNames(transaction, (name) => new TransactionError(`the schema has no table ${JSON.stringify(name)}`));
}

function instanceOf(scope: Scope): unknown {
  const instance: unknown = scope.call("instance");
  if (instance === undefined) {
    throw new TransactionError("tx.instance is the instance of a log: only an operation of one has it");
  }
  return instance;
}
