/**
 * The conflicts of causal tables in a tab, of those that do not merge: listed, watched, decided.
 *
 * Invariant: what the app holds of a table stays that table's, whichever core the tab works through. A list is that of one moment.
 */

import { functionOf, membersOf, refusal, shown } from "../arguments/checks.js";
import { cellValue } from "../arguments/values.js";
import { BlobValue } from "../blob/value.js";
import { Listeners } from "../client/listeners.js";
import type { Seat } from "../client/seat.js";
import type { Stop } from "../client/types.js";
import { IoliteError } from "../errors.js";
import { Table } from "../schema/table.js";
import { hideIn } from "../transaction/hidden.js";
import type { RawChoice, RawConflict, RawRow } from "./types.js";

type Row = Readonly<Record<string, unknown>>;

interface Listed {
  readonly key: unknown;
  readonly base: Row | undefined;
  readonly local: Row | undefined;
  readonly server: Row | undefined;
  readonly calls: number;
}

export class TabConflicts {
  readonly byTable: Record<string, TableConflicts> = {};

  constructor(seat: Seat) {
    for (const [name, table] of Object.entries(seat.options.schema.tables)) {
      if (table instanceof Table && table.policy.onConflict === "manual") {
        this.byTable[name] = new TableConflicts(seat, name, table);
      }
    }
  }

  /** The conflicts of a table are others. */
  changed(table: string): void {
    this.byTable[table]?.changed();
  }

  /** Another core has come to this tab. */
  attached(): void {
    Object.values(this.byTable).forEach((table) => table.changed());
  }
}

class TableConflicts {
  readonly #seat: Seat;
  readonly #name: string;
  readonly #table: Table;
  readonly #listeners = new Listeners<readonly Listed[]>();
  #raw: readonly RawConflict[] = [];
  /** By each row that was listed, what the core says of it: a choice names the version that was shown. */
  readonly #rawOf = new WeakMap<object, RawConflict>();
  #list: readonly Listed[] | undefined;

  constructor(seat: Seat, name: string, table: Table) {
    this.#seat = seat;
    this.#name = name;
    this.#table = table;
  }

  get list(): readonly Listed[] {
    if (this.#list === undefined) {
      // While this tab takes the lead there is no core: what was listed is shown.
      this.#raw = this.#seat.host?.conflicts(this.#name) ?? this.#raw;
      this.#list = this.#raw.map((raw) => {
        const listed = this.#listed(raw);
        this.#rawOf.set(listed, raw);
        return listed;
      });
    }
    return this.#list;
  }

  watch(callback: (rows: readonly Listed[]) => void): Stop {
    const stop = this.#listeners.add(callback);
    this.#tell();
    queueMicrotask(() => this.#seat.notifier.flush());
    return stop;
  }

  async resolve(decide: (rows: readonly unknown[]) => void, shown: readonly Listed[] = this.list): Promise<void> {
    this.#seat.checkUsable();
    functionOf(decide, "call", "resolve");
    const choices = new Map<number, RawChoice>();
    decide(shown.map((row, place) => ({ ...row, keep: (choice: unknown) => void choices.set(place, this.#choice(row, choice)) })));
    if (choices.size > 0) {
      const { host } = this.#seat;
      if (host === undefined) {
        throw new IoliteError("not-ready", "this tab is about to take the lead: decide again in a moment");
      }
      await host.resolve(this.#name, [...choices.values()]);
      this.#seat.worked();
    }
  }

  changed(): void {
    this.#list = undefined;
    this.#tell();
  }

  #tell(): void {
    this.#seat.notifier.add(this.#deliver);
  }

  readonly #deliver = (): void => {
    this.#listeners.deliver(() => this.list);
  };

  #choice(row: Listed, choice: unknown): RawChoice {
    const raw = this.#rawOf.get(row);
    if (raw === undefined) {
      throw refusal("call", "resolve takes rows of `list` or `watch`, as they are");
    }
    const [key, , , , version] = raw;
    if (choice === "local" || choice === "server") {
      return [key, version, choice, [], []];
    }
    if (typeof choice !== "object" || choice === null) {
      throw refusal("call", `keep takes "local", "server" or values of columns, not ${shown(choice)}`);
    }
    const names = Object.keys(this.#table.columns);
    const given = membersOf(choice, "call", "what is kept").filter(([name, value]) => value !== undefined && !this.#table.keyColumns.includes(name));
    const columns = given.map(([name]) => {
      const place = names.indexOf(name);
      if (place < 0) {
        throw refusal("call", `table ${JSON.stringify(this.#name)} has no column ${JSON.stringify(name)}`);
      }
      return place;
    });
    return [key, version, "values", columns, given.map(([name, value]) => cellValue(value, "call", `column ${JSON.stringify(name)}`))];
  }

  #listed([key, base, local, server, , calls]: RawConflict): Listed {
    const only = key.length === 1 ? key[0] : key;
    return { key: only, base: this.#row(base), local: this.#row(local), server: this.#row(server), calls };
  }

  #row(values: RawRow): Row | undefined {
    if (values === null) {
      return undefined;
    }
    const columns = Object.keys(this.#table.columns);
    const row: Record<string, unknown> = {};
    columns.forEach((name, index) => (row[name] = values[index]));
    const key = this.#table.keyColumns.map((name) => row[name]);
    columns.forEach((column, index) => {
      if (this.#table.columns[column]?.json.type === "blob" && values[index] !== null) {
        BlobValue.readAt(row[column], { table: this.#name, key, column });
      }
    });
    hideIn(row, columns, values);
    return row;
  }
}
