/** Rights of a schema: for each table, log and class of objects, who may do what. */

import { SchemaError } from "../errors.js";
import { type LogDefinition, logsOf } from "../schema/log.js";
import type { Schema, Tables, TablesOf } from "../schema/schema.js";
import { LiveTable } from "../schema/table.js";
import { inOrder, type RuleJson } from "./json.js";
import { type Rule, wholeRule } from "./rule.js";
import {
  type CallScene,
  type CheckScene,
  type CreateScene,
  type DeleteScene,
  type JoinScene,
  logScene,
  objectScene,
  type ObjectScene,
  type ReadScene,
  type RunScene,
  tableScene,
  type UpdateScene,
} from "./scenes.js";

/** Everybody may do everything. */
export const open = "open";

/** A rule, or a function that makes it of what the rule may look at. */
export type RuleIn<Scene> = Rule | ((scene: Scene) => Rule);

/** Rules of the rows of a table. What has no rule is denied. */
export interface TableRules<T extends Tables, R> {
  readonly read?: RuleIn<ReadScene<R>>;
  readonly create?: RuleIn<CreateScene<T, R>>;
  readonly update?: RuleIn<UpdateScene<T, R>>;
  readonly delete?: RuleIn<DeleteScene<T, R>>;
  /** Holds of every row that anybody creates or changes, beside the rule of that. */
  readonly check?: RuleIn<CheckScene<T, R>>;
}

/** Rules of a log. */
export interface LogRules<T extends Tables> {
  /** Says who may be a member, and so read it. */
  readonly join?: RuleIn<JoinScene<T>>;
  /** Says who may append which operation. */
  readonly run?: RuleIn<RunScene<T>>;
}

/** Rules of the objects of a class. */
export interface ObjectRules<T extends Tables> {
  readonly call?: RuleIn<CallScene<T>>;
  /** Says who may have a copy, for reading. */
  readonly read?: RuleIn<ObjectScene<T>>;
  readonly hold?: RuleIn<ObjectScene<T>>;
}

/** Rules of a live table, whose rows are always there: nobody creates or deletes them. */
export type LiveRules<T extends Tables, R> = Omit<TableRules<T, R>, "create" | "delete">;

/** The rules of a schema. Tables of a log have none of their own: their log has them. */
export interface Rules<T extends Tables> {
  readonly tables?: { readonly [N in keyof T]?: typeof open | (T[N] extends LiveTable ? LiveRules<T, T[N]> : TableRules<T, T[N]>) };
  readonly logs?: { readonly [name: string]: typeof open | LogRules<T> };
  readonly objects?: { readonly [name: string]: typeof open | ObjectRules<T> };
}

/** A schema and its rights, which are put into effect together. */
export interface Deployment {
  readonly rights: unknown;
  readonly schema: unknown;
}

/** The rights of a schema, as data. Make them with `defineRights()`. */
export class Rights<T extends Tables = Tables> {
  readonly #deployment: Deployment;
  /** The tables of their schema. */
  readonly tables: T;

  /** @internal */
  constructor(deployment: Deployment, tables: T) {
    this.#deployment = deployment;
    this.tables = tables;
  }

  /** Schema and rights: the file that `iolite schema apply` takes. */
  toJSON(): Deployment {
    return this.#deployment;
  }
}

const OF_TABLES = ["read", "create", "update", "delete", "check"];
const OF_LIVE_TABLES = ["read", "update", "check"];
const OF_LOGS = ["join", "run"];
const OF_OBJECTS = ["call", "read", "hold"];

/**
 * Says who may do what. Servers judge it once the rights are in effect beside the schema. Clients carry no rules.
 *
 * @throws SchemaError with all that is wrong, each with table and rule.
 */
export function defineRights<S extends Schema>(schema: S, rules: Rules<TablesOf<S>>): Rights<TablesOf<S>> {
  const problems: string[] = [];
  const { tables } = schema;
  const logs = logsOf(tables);
  const own = Object.entries(tables).filter(([, table]) => table.policy.log === undefined);
  const all = {
    tables: rulesOf(problems, "table", rules.tables, {
      names: own.map(([name]) => name),
      rights: (name) => (tables[name] instanceof LiveTable ? OF_LIVE_TABLES : OF_TABLES),
      unknown: (name) => unknownTable(tables, name),
      scene: (name, right) => tableScene(tables, name, tables[name] as never, right),
    }),
    logs: rulesOf(problems, "log", rules.logs, {
      names: [...logs.keys()],
      rights: () => OF_LOGS,
      unknown: () => `the schema has no such log: ${listed([...logs.keys()])}`,
      scene: (name, right) => sceneOfLog(tables, logs.get(name), right),
    }),
    objects: rulesOf(problems, "class", rules.objects, {
      names: Object.keys(rules.objects ?? {}),
      rights: () => OF_OBJECTS,
      unknown: () => "",
      scene: (_, right) => objectScene(tables, right),
    }),
  };
  problems.push(...Object.keys(rules).filter((name) => !Object.hasOwn(all, name)).map((name) => `rights have no ${JSON.stringify(name)}: there are tables, logs and objects`));
  if (problems.length > 0) {
    throw new SchemaError(problems.join("\n"));
  }
  return new Rights({ rights: inOrder(all), schema: JSON.parse(schema.json) }, tables as TablesOf<S>);
}

interface Judged {
  /** All that need rights. */
  readonly names: readonly string[];
  readonly rights: (name: string) => readonly string[];
  /** Why a name is none of them. */
  readonly unknown: (name: string) => string;
  readonly scene: (name: string, right: string) => object;
}

/** The rules of all tables, logs or classes, as data. */
function rulesOf(problems: string[], kind: string, given: object = {}, judged: Judged): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of judged.names.filter((each) => !Object.hasOwn(given, each))) {
    problems.push(`${kind} ${JSON.stringify(name)}: it has no rights: write open if everybody may do everything`);
  }
  for (const [name, rules] of Object.entries(given) as [string, unknown][]) {
    const place = `${kind} ${JSON.stringify(name)}`;
    if (!judged.names.includes(name)) {
      problems.push(`${place}: ${judged.unknown(name)}`);
    } else if (rules === open) {
      found[name] = open;
    } else if (typeof rules !== "object" || rules === null) {
      problems.push(`${place}: write open, or an object of rules, not ${typeof rules}`);
    } else {
      found[name] = oneOf(problems, place, rules, judged.rights(name), (right) => judged.scene(name, right));
    }
  }
  return found;
}

function oneOf(problems: string[], place: string, rules: object, rights: readonly string[], scene: (right: string) => object): Record<string, RuleJson> {
  const found: Record<string, RuleJson> = {};
  for (const [right, rule] of Object.entries(rules) as [string, unknown][]) {
    if (!rights.includes(right)) {
      problems.push(`${place}: there is no rule ${JSON.stringify(right)}: ${listed(rights)}`);
      continue;
    }
    try {
      found[right] = wholeRule(rule, scene(right)).json;
    } catch (error) {
      problems.push(`${place}, rule ${JSON.stringify(right)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return found;
}

function sceneOfLog(tables: Tables, log: LogDefinition | undefined, right: string): object {
  const [[name, table] = []] = Object.entries(log?.tables ?? {});
  return logScene(tables, name as never, table as never, right);
}

function unknownTable(tables: Tables, name: string): string {
  const log = Object.hasOwn(tables, name) ? tables[name]?.policy.log : undefined;
  if (log !== undefined) {
    return `it is of log ${JSON.stringify(log.name)}: give rights to the log, and none to the table`;
  }
  return `the schema has no such table: ${listed(Object.keys(tables))}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
}
