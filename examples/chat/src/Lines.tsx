/** The lines of a room, oldest first: the last ones, and more on request. */

import { MARK_WORDS } from "examples-page";
import { useLayoutEffect, useRef, useState } from "react";

import { type Line, type Mark, useLines } from "./chat";
import { Reached } from "./Reached";

const PAGE = 50;
/** So near to the end counts as there, in pixels. */
const NEAR = 60;
/** Lines of one person within this time stand together. */
const TOGETHER_MS = 5 * 60_000;

export function Lines({ room, count, me }: { room: string; count: number; me: string }) {
  const [most, setMost] = useState(PAGE);
  const lines = useLines(room, most);
  const list = useStickToEnd(lines?.at(-1)?.id);
  return (
    <ol className="lines" ref={list} aria-label="Messages" aria-live="polite" tabIndex={0}>
      {lines !== undefined && count > lines.length && (
        <li className="earlier">
          <button type="button" onClick={() => setMost(most + PAGE)}>
            Earlier
          </button>
        </li>
      )}
      {lines?.length === 0 && <li className="earlier">Nothing said yet.</li>}
      {lines?.map((line, index) => (
        <OneLine key={line.id} line={line} mine={line.by === me} goesOn={goesOn(lines[index - 1], line)} />
      ))}
    </ol>
  );
}

function goesOn(before: Line | undefined, line: Line): boolean {
  return before !== undefined && before.by === line.by && line.at - before.at < TOGETHER_MS;
}

function OneLine({ line, mine, goesOn }: { line: Line & { mark: Mark; isDelivered?: boolean | undefined }; mine: boolean; goesOn: boolean }) {
  return (
    <li className={`line${mine ? " mine" : ""}${goesOn ? " goes-on" : ""}`} data-mark={line.mark}>
      {!goesOn && (
        <p className="author">
          <strong>{mine ? "You" : line.author}</strong>{" "}
          <small>{new Date(line.at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}</small>
        </p>
      )}
      <p className="text">{line.text}</p>
      {mine && <Reached mark={line.mark} isDelivered={line.isDelivered} />}
      {line.mark !== "sent" && <small className="mark">{MARK_WORDS[line.mark]}</small>}
    </li>
  );
}

/** Keeps the end in view for whoever is there. */
function useStickToEnd(last: string | undefined) {
  const list = useRef<HTMLOListElement>(null);
  const height = useRef(0);
  useLayoutEffect(() => {
    const element = list.current;
    if (element !== null) {
      if (height.current - element.scrollTop - element.clientHeight < NEAR) {
        element.scrollTop = element.scrollHeight;
      }
      height.current = element.scrollHeight;
    }
  }, [last]);
  return list;
}
