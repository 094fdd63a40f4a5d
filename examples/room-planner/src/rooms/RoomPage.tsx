/** One room: the plan with its tools, and the chat beside it. */

import { useConnectionState, usePending } from "@iolite/react";
import { connectionWords } from "examples-page";
import { useState } from "react";

import { ChatSheet } from "../chat/ChatSheet";
import { FloorPlan } from "../plan/FloorPlan";
import { Palette } from "../plan/Palette";
import { PieceBar } from "../plan/PieceBar";
import { useJustMoved } from "../plan/useJustMoved";
import { usePieceActions } from "../plan/usePieceActions";
import type { Piece, Room } from "../schema";
import { useMarks } from "../sync/marks";
import type { NameOf } from "../sync/mutationWords";
import { Refusals } from "../sync/Refusals";
import { SyncPanel } from "../sync/SyncPanel";
import { markUndelivered, useUndelivered } from "../sync/undelivered";
import { RoomFacts } from "./RoomFacts";
import { RoomHeader } from "./RoomHeader";

export function RoomPage({ room, pieces: stored }: { room: Room; pieces: readonly Piece[] }) {
  const { pieces, note } = useJustMoved(stored);
  const [selected, setSelected] = useState<string | null>(null);
  const [syncOpen, setSyncOpen] = useState(false);
  const actions = usePieceActions(room, pieces, setSelected, note);
  const undelivered = useUndelivered(room.id);
  const marks = markUndelivered(useMarks(), undelivered);
  const find: NameOf = (id) => pieces.find((piece) => piece.id === id)?.name;
  return (
    <div className="page">
      <header className="top">
        <RoomHeader room={room} />
        <SyncChip open={syncOpen} onToggle={() => setSyncOpen(!syncOpen)} />
      </header>
      <main className="work">
        <Palette left={room.budget - room.spent} onAdd={actions.add} />
        <div className="stage">
          <RoomFacts room={room} />
          <Refusals nameOf={find} />
          <div className="plan-frame">
            <FloorPlan
              room={room}
              pieces={pieces}
              marks={marks}
              undelivered={undelivered}
              actions={actions}
              selected={selected}
              onSelect={setSelected}
            />
          </div>
          <PieceBar piece={pieces.find(({ id }) => id === selected)} pieces={pieces} actions={actions} />
        </div>
      </main>
      <aside className="side">
        <div id="sync" className={syncOpen ? "sync-frame open" : "sync-frame"}>
          <SyncPanel nameOf={find} />
        </div>
        <ChatSheet room={room.id} marks={marks} />
      </aside>
    </div>
  );
}

/** On a phone the panel is behind this. */
function SyncChip({ open, onToggle }: { open: boolean; onToggle: () => void }) {
  const { title, tone } = connectionWords(useConnectionState());
  const waiting = usePending().length;
  return (
    <button type="button" className="sync-chip" aria-expanded={open} aria-controls="sync" onClick={onToggle}>
      <span className={`connection tone-${tone}`}>{title}</span>
      {waiting > 0 && <span className="count">{waiting}</span>}
    </button>
  );
}
