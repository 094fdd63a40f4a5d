/** The log of one sheet as hooks: what is in it, and where its people are. */

import type { Log } from "@iolite/client";
import { useClient, useDifference, useLog, useReactive, useView } from "@iolite/react";
import type { Me } from "examples-page";
import { useEffect, useRef } from "react";

import { type Cell, type Cursor, LONGEST, sheet } from "./model";

export type SheetLog = Log<typeof sheet.operations>;

export function useSheet(id: string) {
  return useLog(sheet, id);
}

export interface Sheet {
  readonly cells: ReadonlyMap<string, Cell>;
  readonly others: readonly Cursor[];
  /** The texts that the server has of cells in which something waits here. */
  readonly waiting: ReadonlyMap<string, string>;
}

/** A sheet whose log is joined. */
export function useCells(id: string, me: Me): Sheet {
  const cells = useReactive((tx) => tx.cells.range({ prefix: [id] }), [id]);
  const cursors = useReactive((tx) => tx.cursors.range({ prefix: [id] }), [id]);
  const { data: differing = [] } = useDifference("optimistic", "confirmed", { table: "cells" });
  const { data: confirmed = [] } = useView((tx) => tx.cells.range({ prefix: [id] }), { view: "confirmed" });
  const texts = new Map(confirmed.map(({ at, text }) => [at, text]));
  const own = differing.filter(({ key }) => key[0] === id).map(({ key: [, at] }) => [at, texts.get(at) ?? ""] as const);
  return {
    cells: new Map(cells.data?.map((cell) => [cell.at, cell])),
    others: cursors.data?.filter(({ who }) => who !== me.id) ?? [],
    waiting: new Map(own),
  };
}

/**
 * Tells the others where one is: one operation at a time, and then only the last place. A log keeps each of its entries, so cursors do not tell every step.
 */
export function useCursor(log: SheetLog, me: Me, at: string | undefined): void {
  const client = useClient();
  const wanted = useRef<{ readonly who: string; readonly name: string; readonly at: string }>(undefined);
  const isTelling = useRef(false);
  useEffect(() => {
    if (at !== undefined) {
      wanted.current = { who: me.id, name: me.name.trim().slice(0, LONGEST.name) || "Somebody", at };
      void tell();
    }
    async function tell(): Promise<void> {
      if (isTelling.current) {
        return;
      }
      isTelling.current = true;
      for (let told: unknown; told !== wanted.current && wanted.current !== undefined; ) {
        told = wanted.current;
        // What is refused is in the list of those.
        await log.do.point(wanted.current).until("confirmed").catch(() => undefined);
      }
      isTelling.current = false;
    }
  }, [log, me.id, me.name, at]);
  useEffect(() => {
    const go = (): void => {
      if (client.connection.status === "online" && wanted.current !== undefined) {
        log.do.go(me.id);
      }
    };
    addEventListener("pagehide", go);
    return () => removeEventListener("pagehide", go);
  }, [client, log, me.id]);
}
