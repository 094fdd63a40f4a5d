/**
 * A kit for the tests of an app: its rights, over rows that a test gives, without a server.
 *
 * Invariant: the answer is that of servers, whose judge runs here as WebAssembly. What a test asks changes none of its rows.
 */

import type { Tables } from "../schema/schema.js";
import type { AnyTable, KeyOf } from "../schema/table.js";
import type { Trial } from "../wasm/iolite_wasm_rights.js";
import type { Rights } from "./defineRights.js";
import { changesJson, keyJson, rowJson } from "./testing/json.js";
import { loadJudge } from "./testing/loadJudge.js";
import { RightsTestError } from "./testing/error.js";
import type { ChangesIn, Deed, Given, GivenRow } from "./testing/types.js";

/** A user, as their token says: the name, and other claims. */
export interface Who {
  readonly sub: string;
  readonly [claim: string]: string | number | boolean | readonly string[];
}

/** The value that names an instance of a log: that of the first column of its tables' keys. */
type Instance = string | number | boolean;

interface OneRow {
  readonly table: string;
  readonly json: string;
  readonly row: unknown;
}

/** Rights over rows. Each method gives a new test, so that tests can share a beginning. Make one with `rightsTest()`. */
export class RightsTest<T extends Tables> {
  /** @internal */ protected readonly rights: Rights<T>;
  /** @internal */ protected readonly rows: readonly OneRow[];
  /** @internal */ protected readonly trial: Trial;
  /** @internal The rows as they were given, by table and by the name of their key. */
  protected readonly byKey: ReadonlyMap<string, unknown>;

  /** @internal */
  constructor(rights: Rights<T>, rows: readonly OneRow[]) {
    const { schema, rights: rules } = rights.toJSON();
    const Judge = loadJudge();
    const trial = told(() => new Judge(JSON.stringify(schema), JSON.stringify(rules)));
    const byKey = rows.map(({ table, json, row }) => [`${table}/${told(() => trial.give(table, json))}`, row] as const);
    this.rights = rights;
    this.rows = rows;
    this.trial = trial;
    this.byKey = new Map(byKey);
  }

  /** The same with these rows beside, whoever may make them. A row with the key of another one takes its place. */
  given(rows: Given<T>): RightsTest<T> {
    return new RightsTest(this.rights, this.withRows(rows));
  }

  /** A user who tries something. `now` is the time of the rules in milliseconds since 1970: the beginning, unless it is given. */
  as(who: Who, { now = 0 }: { readonly now?: number } = {}): RightsOf<T> {
    return new RightsOf(this.rights, this.rows, who, now);
  }

  /** @internal */
  protected withRows(rows: Given<T>): readonly OneRow[] {
    const given = Object.entries(rows).flatMap(([table, own]) => {
      const definition = tableOf(this.rights, table);
      return [...(own as Iterable<object>)].map((row) => ({ table, json: JSON.stringify(rowJson(table, definition, row)), row }));
    });
    return [...this.rows, ...given];
  }
}

/** The rights of a user, who tries things. */
export class RightsOf<T extends Tables> extends RightsTest<T> {
  readonly #who: Who;
  readonly #now: number;

  /** @internal */
  constructor(rights: Rights<T>, rows: readonly OneRow[], who: Who, now: number) {
    super(rights, rows);
    if (typeof who?.sub !== "string" || who.sub === "") {
      throw new RightsTestError("mistake", 'say who asks: .as({ sub: "ann" }), and other claims beside');
    }
    this.#who = who;
    this.#now = now;
  }

  override given(rows: Given<T>): RightsOf<T> {
    return new RightsOf(this.rights, this.withRows(rows), this.#who, this.#now);
  }

  /**
   * The user may do this, or several things in one mutation: `may("create", "rooms", room)`, `may([["create", "rooms", room], ["create", "members", member]])`.
   * Of a log by the value that names its instance: `may("join", "board", room)`, `may("run", "board", room, "draw")`.
   * Of an object: `may("call", "TodoList", id, "add")`, `may("hold", "TodoList", id)`, and `copy` for a copy that is only read.
   *
   * @throws RightsTestError with the rule as a tree, each part with its values.
   */
  may<N extends keyof T & string>(deed: "create", table: N, row: GivenRow<T[N]>): this;
  may<N extends keyof T & string>(deed: "update", table: N, key: KeyOf<T[N]>, changes: ChangesIn<T[N]>): this;
  may<N extends keyof T & string>(deed: "delete", table: N, key: KeyOf<T[N]>): this;
  may(deed: "join", log: string, instance: Instance): this;
  may(deed: "run", log: string, instance: Instance, operation: string): this;
  may(deed: "call", class_: string, id: string, method: string): this;
  may(deed: "copy" | "hold", class_: string, id: string): this;
  may(together: readonly Deed<T>[]): this;
  may(...asked: readonly unknown[]): this {
    const { allowed, text } = this.#judge(asked);
    if (!allowed) {
      throw new RightsTestError("denied", `${this.#who.sub} may not do this: ${text}`);
    }
    return this;
  }

  /**
   * The user may not do this.
   *
   * @throws RightsTestError with the rule as a tree, each part with its values.
   */
  mayNot<N extends keyof T & string>(deed: "create", table: N, row: GivenRow<T[N]>): this;
  mayNot<N extends keyof T & string>(deed: "update", table: N, key: KeyOf<T[N]>, changes: ChangesIn<T[N]>): this;
  mayNot<N extends keyof T & string>(deed: "delete", table: N, key: KeyOf<T[N]>): this;
  mayNot(deed: "join", log: string, instance: Instance): this;
  mayNot(deed: "run", log: string, instance: Instance, operation: string): this;
  mayNot(deed: "call", class_: string, id: string, method: string): this;
  mayNot(deed: "copy" | "hold", class_: string, id: string): this;
  mayNot(together: readonly Deed<T>[]): this;
  mayNot(...asked: readonly unknown[]): this {
    const { allowed, text } = this.#judge(asked);
    if (allowed) {
      throw new RightsTestError("allowed", `${this.#who.sub} may do this, and should not: ${text}`);
    }
    return this;
  }

  /** The rows of a table that the user may see, as the test gave them, in the order of their keys. */
  sees<N extends keyof T & string>(table: N): readonly GivenRow<T[N]>[] {
    tableOf(this.rights, table);
    const seen = told(() => this.trial.sees(JSON.stringify(this.#who), this.#now, table));
    return seen.map((key) => this.byKey.get(`${table}/${key}`) as GivenRow<T[N]>);
  }

  #judge(asked: readonly unknown[]): { readonly allowed: boolean; readonly text: string } {
    const [first] = asked;
    const deeds = Array.isArray(first) ? (first as readonly (readonly unknown[])[]) : [asked];
    const wanted = deeds.map((deed) => deedJson(this.rights, deed));
    return JSON.parse(told(() => this.trial.may(JSON.stringify(this.#who), this.#now, JSON.stringify(wanted)))) as { allowed: boolean; text: string };
  }
}

/** Tests rights: `rightsTest(rights).given({ rooms: [kitchen] }).as({ sub: "ann" }).may("create", "messages", hello)`. In Node, as the tests of an app are. */
export function rightsTest<T extends Tables>(rights: Rights<T>): RightsTest<T> {
  if (typeof rights?.toJSON !== "function" || rights.tables === undefined) {
    throw new RightsTestError("mistake", "rightsTest takes the rights that defineRights returned");
  }
  return new RightsTest(rights, []);
}

function deedJson(rights: Rights<Tables>, [deed, table, ...rest]: readonly unknown[]): readonly unknown[] {
  if (deed === "join" || deed === "run" || deed === "call" || deed === "copy" || deed === "hold") {
    // Which logs there are, and of which type their instances, the judge knows. It knows no classes: one without rules denies.
    return [deed, table, ...rest];
  }
  const definition = tableOf(rights, table);
  const name = table as string;
  switch (deed) {
    case "create":
      return [deed, name, rowJson(name, definition, rest[0])];
    case "update":
      return [deed, name, keyJson(name, definition, rest[0]), changesJson(name, definition, rest[1])];
    case "delete":
      return [deed, name, keyJson(name, definition, rest[0])];
    default:
      throw new RightsTestError("mistake", `there is no ${JSON.stringify(deed)} to try: write "create", "update" or "delete", "join" or "run" of a log, or "call", "copy" or "hold" of an object. What a user reads is in .sees()`);
  }
}

function tableOf(rights: Rights<Tables>, name: unknown): AnyTable {
  const table = typeof name === "string" && Object.hasOwn(rights.tables, name) ? rights.tables[name] : undefined;
  if (table === undefined) {
    throw new RightsTestError("mistake", `the schema has no table ${JSON.stringify(name)}: there are ${Object.keys(rights.tables).join(", ")}`);
  }
  return table;
}

/** The judge throws sentences. */
function told<R>(ask: () => R): R {
  try {
    return ask();
  } catch (error) {
    throw typeof error === "string" ? new RightsTestError("mistake", error) : error;
  }
}
