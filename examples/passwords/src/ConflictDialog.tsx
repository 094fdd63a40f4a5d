/** A conflict: before, mine and theirs beside each other, field by field. The person keeps mine, theirs, or fields of both. */

import { useEffect, useId, useRef, useState } from "react";

import { type Account, type AccountConflict, type Choice, differing, type Field, FIELDS, type Fields } from "./account";
import { LABELS } from "./labels";

type Side = "mine" | "theirs";

const SIDES = ["mine", "theirs"] as const;
const TITLES = { base: "Before", mine: "Mine", theirs: "Theirs" } as const;

interface ConflictDialogProps {
  readonly conflict: AccountConflict;
  readonly onDecide: (choice: Choice) => void;
  readonly onClose: () => void;
}

export function ConflictDialog({ conflict, onDecide, onClose }: ConflictDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [chosen, choose] = useState<Readonly<Record<Field, Side>>>(() => changedSides(conflict));
  const [isShown, show] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const { base, mine, theirs } = conflict;
  const decide = (choice: Choice): void => {
    dialog.current?.close();
    onDecide(choice);
  };
  return (
    <dialog ref={dialog} className="card conflict" aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{(mine ?? theirs ?? base)?.name}: changed on two devices</h2>
      <p className="soft">Mine is what this device has, and theirs is what another device has sent.</p>
      <div className="fields">
        <Heads conflict={conflict} />
        {FIELDS.map((field) => (
          <Row key={field} field={field} conflict={conflict} isShown={isShown} side={chosen[field]} onChoose={(side) => choose({ ...chosen, [field]: side })} />
        ))}
      </div>
      <label className="check">
        <input type="checkbox" checked={isShown} onChange={({ target }) => show(target.checked)} />
        Show the passwords
      </label>
      <div className="answers">
        <button onClick={() => dialog.current?.close()}>Later</button>
        {SIDES.map((side) => (
          <button key={side} onClick={() => decide(side)}>
            {conflict[side] === undefined ? `Keep ${side}: delete it` : `Keep ${side}`}
          </button>
        ))}
        {mine !== undefined && theirs !== undefined && (
          <button className="main" onClick={() => decide(mixed(mine, theirs, chosen))}>
            Keep what is chosen
          </button>
        )}
      </div>
    </dialog>
  );
}

function Heads({ conflict }: { conflict: AccountConflict }) {
  return (
    <div className="heads">
      <span />
      {(["base", "mine", "theirs"] as const).map((side) => (
        <span key={side} className={side} data-side={side} data-deleted={conflict[side] === undefined}>
          {TITLES[side]}
          {conflict[side] === undefined && <em>{side === "base" ? "not there" : "deleted"}</em>}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  readonly field: Field;
  readonly conflict: AccountConflict;
  readonly isShown: boolean;
  readonly side: Side;
  readonly onChoose: (side: Side) => void;
}

/** One field. Where both sides are there and differ, one of them is chosen. */
function Row({ field, conflict, isShown, side, onChoose }: RowProps) {
  const { base, mine, theirs } = conflict;
  const group = useId();
  const isAsked = mine !== undefined && theirs !== undefined && mine[field] !== theirs[field];
  const text = (account: Account | undefined): string => {
    const value = account?.[field] ?? "";
    return field === "password" && !isShown && value !== "" ? "••••••" : value;
  };
  return (
    <div className="field" role="group" aria-label={LABELS[field]} data-field={field} data-asked={isAsked}>
      <span className="label" aria-hidden="true">
        {LABELS[field]}
      </span>
      <Cell title={TITLES.base} side="base" text={text(base)} isChanged={false} />
      {SIDES.map((each) =>
        isAsked ? (
          <label key={each} className={`cell ${each}`} data-changed={conflict[each]?.[field] !== base?.[field]}>
            <input type="radio" name={group} checked={side === each} onChange={() => onChoose(each)} />
            <span>
              <span className="side">{TITLES[each]}: </span>
              <span className="value">{text(conflict[each]) || <Empty />}</span>
            </span>
          </label>
        ) : (
          <Cell key={each} title={TITLES[each]} side={each} text={conflict[each] === undefined ? undefined : text(conflict[each])} isChanged={conflict[each]?.[field] !== base?.[field]} />
        ),
      )}
    </div>
  );
}

/** `text` is undefined on a side that has deleted the account. */
function Cell({ title, side, text, isChanged }: { title: string; side: "base" | Side; text: string | undefined; isChanged: boolean }) {
  return (
    <div className={`cell ${side}`} data-changed={isChanged && text !== undefined}>
      <span className="side">{title}: </span>
      <span className="value">{text === undefined ? <em>deleted</em> : text || <Empty />}</span>
    </div>
  );
}

function Empty() {
  return <em>empty</em>;
}

/** The sides that are chosen at first: theirs for what only the other side has changed, and mine for all else. */
function changedSides({ base, mine, theirs }: AccountConflict): Readonly<Record<Field, Side>> {
  const own = base && mine ? differing(base, mine) : FIELDS;
  const other = base && theirs ? differing(base, theirs) : [];
  return Object.fromEntries(FIELDS.map((field) => [field, other.includes(field) && !own.includes(field) ? "theirs" : "mine"])) as Record<Field, Side>;
}

function mixed(mine: Account, theirs: Account, chosen: Readonly<Record<Field, Side>>): Fields {
  return Object.fromEntries(FIELDS.map((field) => [field, { mine, theirs }[chosen[field]][field]])) as unknown as Fields;
}
