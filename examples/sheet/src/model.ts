/**
 * A sheet as a log, which all its members replay in one order. Its cells and cursors are the state, and its operations are all that can be done.
 *
 * Invariant: an operation says what a person meant ("thicker"), not what came of it. So what two people do at once to one cell counts twice.
 */

import { Abort, type ClientOf, defineLog, defineMutators, defineSchema, operation, type RowOf, s, table } from "@iolite/client";

export const COLUMNS = ["A", "B", "C", "D", "E"] as const;
export const ROWS = [1, 2, 3, 4, 5, 6, 7, 8] as const;
export const COLOURS = ["ink", "red", "green", "blue"] as const;
export type Colour = (typeof COLOURS)[number];
export const LONGEST = { text: 80, name: 24 } as const;
export const WIDEST = 4;

const tables = {
  cells: table({
    sheet: s.string(),
    at: s.string(),
    text: s.string().default(""),
    /** The width of the border in pixels. 0: there is none. */
    width: s.int().default(0),
    colour: s.string().default("ink"),
  }).key("sheet", "at"),
  cursors: table({ sheet: s.string(), who: s.string(), name: s.string(), at: s.string() }).key("sheet", "who"),
};

export const sheet = defineLog(
  "sheet",
  tables,
  {
    /** How each sheet begins. */
    header: operation((tx) => {
      COLUMNS.slice(0, 3).forEach((column, place) => tx.cells.put({ at: `${column}1`, text: ["What", "Who", "Until"][place] ?? "", width: 1 }));
    }),
    write: operation((tx, { at, text }: { at: string; text: string }) => {
      mustBeCell(at);
      mustFit("The text", text, LONGEST.text);
      tx.cells.put({ at, text });
    }),
    /** Makes the border of a cell wider, or narrower. */
    widen: operation((tx, { at, by }: { at: string; by: 1 | -1 }) => {
      mustBeCell(at);
      const width = (tx.cells.get([at])?.width ?? 0) + by;
      tx.cells.put({ at, width: Math.max(0, Math.min(WIDEST, width)) });
    }),
    /** Gives the border of a cell a colour. */
    paint: operation((tx, { at, colour }: { at: string; colour: Colour }) => {
      mustBeCell(at);
      tx.cells.put({ at, colour });
    }),
    point: operation((tx, { who, name, at }: { who: string; name: string; at: string }) => {
      mustBeCell(at);
      mustFit("Your name", name, LONGEST.name);
      tx.cursors.put({ who, name, at });
    }),
    /** Takes the cursor of somebody who goes. */
    go: operation((tx, who: string) => {
      if (tx.cursors.has([who])) {
        tx.cursors.delete([who]);
      }
    }),
  },
  { initial: "header" },
);

export const schema = defineSchema(sheet.tables);
/** A log's tables are changed by its operations only, so there is nothing else to call. */
export const mutators = defineMutators(schema, {});

export type Cell = RowOf<typeof schema.tables.cells>;
export type Cursor = RowOf<typeof schema.tables.cursors>;

function mustBeCell(at: string): void {
  if (!COLUMNS.some((column) => ROWS.some((row) => at === `${column}${row}`))) {
    throw new Abort("The sheet has no such cell.");
  }
}

function mustFit(what: string, text: string, longest: number): void {
  if (text.length > longest) {
    throw new Abort(`${what} is too long: it may have ${longest} characters.`);
  }
}

declare module "@iolite/react" {
  interface Register {
    client: ClientOf<typeof mutators>;
  }
}
