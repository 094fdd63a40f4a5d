/** All events, the next one first: who plans them, when they are, and who comes. */

import { newId } from "@iolite/client";
import { useMutation, useReactive } from "@iolite/react";
import { AskButton } from "examples-page";
import type { MouseEvent } from "react";

import { Mark } from "./Mark";
import type { Event } from "./model";
import { PersonLink } from "./PersonLink";
import { subjects } from "./progress";
import { useTown } from "./town";

export function Events() {
  const { data: events } = useReactive((tx) => [...tx.events.range()].sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1)), []);
  return (
    <aside className="events card" tabIndex={-1} aria-label="Events">
      <h2>Events</h2>
      {events?.length === 0 && <small>None is planned.</small>}
      {events !== undefined && events.length > 0 && (
        <ul>
          {events.map((event) => (
            <OneEvent key={event.id} event={event} />
          ))}
        </ul>
      )}
      <PlanButton />
    </aside>
  );
}

function PlanButton() {
  const { me } = useTown();
  const plan = useMutation("plan");
  const onAnswer = (form: FormData): void => {
    const [title, at] = [String(form.get("title")).trim(), new Date(String(form.get("at"))).getTime()];
    plan({ id: newId(), by: me, title, at });
  };
  return (
    <AskButton label="Plan an event" question="What do you plan?" answer="Plan it" onAnswer={onAnswer}>
      <label>
        Title
        <input name="title" required pattern=".*\S.*" maxLength={60} autoComplete="off" placeholder="A walk in the snow" />
      </label>
      <label>
        Time
        <input name="at" type="datetime-local" required />
      </label>
    </AskButton>
  );
}

function OneEvent({ event: { id, by, title, at, guests } }: { event: Event }) {
  const { me, progress, nameOf } = useTown();
  const [attend, cancel] = [useMutation("attend"), useMutation("cancel")];
  const onCancel = ({ currentTarget }: MouseEvent): void => {
    // The button goes with the event.
    currentTarget.closest("aside")?.focus();
    cancel({ id });
  };
  const names = [...guests].map(nameOf).sort();
  const comes = guests.has(me);
  return (
    <li data-event={title} data-guests={[...guests].sort().join(" ")}>
      <p>
        <strong>{title}</strong> <Mark progress={progress(subjects.event(id))} />
      </p>
      <small>
        {new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}, by <PersonLink id={by} />
      </small>
      <p className="guests">{names.length === 0 ? "Nobody comes yet." : `${names.join(", ")} ${names.length === 1 ? "comes" : "come"}.`}</p>
      <div className="attending">
        <button type="button" aria-label={`I come to “${title}”`} aria-pressed={comes} onClick={() => attend({ id, me, comes: !comes })}>
          I come
        </button>
        {by === me && (
          <button type="button" aria-label={`Cancel “${title}”`} onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </li>
  );
}
