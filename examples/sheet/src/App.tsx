/** One sheet: what is said of it, its cells, and what can be done with the one that is chosen. */

import { type Me, NetworkSwitch, Refusals, SyncChip, useMe, useRoute } from "examples-page";
import { useState } from "react";

import { Grid } from "./Grid";
import { type SheetLog, useCells, useCursor, useSheet } from "./sheetLog";
import { Tools } from "./Tools";

export function App() {
  const id = useRoute("budget");
  const [me, rename] = useMe();
  const { log, stopped, error } = useSheet(id);
  return (
    <div className="page">
      <header>
        <h1>Sheet</h1>
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={(name) => WORDS[name] ?? name} />
      </header>
      {log !== undefined && <SheetPage key={id} id={id} log={log} me={me} rename={rename} />}
      {stopped !== undefined && <p role="alert">This page is too old for the sheet: load it again. {stopped}</p>}
      {error !== undefined && (
        <main className="elsewhere">
          <p role="alert">Another tab of this browser shows sheets. Use that one, or close it: then this one goes on.</p>
          <small>{error.message}</small>
        </main>
      )}
    </div>
  );
}

const WORDS: Record<string, string> = {
  "sheet.write": "write into a cell",
  "sheet.widen": "change a border's width",
  "sheet.paint": "change a border's colour",
  "sheet.point": "show where you are",
};

interface SheetPageProps {
  readonly id: string;
  readonly log: SheetLog;
  readonly me: Me;
  readonly rename: (name: string) => void;
}

function SheetPage({ id, log, me, rename }: SheetPageProps) {
  const [at, choose] = useState<string>();
  const sheet = useCells(id, me);
  useCursor(log, me, at);
  return (
    <main>
      <p className="people">
        <label>
          Your name <input value={me.name} maxLength={24} onChange={({ target }) => rename(target.value)} />
        </label>
        <small data-others={sheet.others.length}>{sheet.others.length === 0 ? "Nobody else was here yet." : `Also here: ${sheet.others.map(({ name }) => name).join(", ")}`}</small>
      </p>
      <Grid {...sheet} chosen={at} onChoose={choose} onWrite={(at, text) => log.do.write({ at, text })} />
      <Tools cell={at} now={at === undefined ? undefined : sheet.cells.get(at)} log={log} />
      <small>Open this page in a private window, or in another browser: what is done in one shows in both.</small>
    </main>
  );
}
