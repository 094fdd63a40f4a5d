/** A person: what they say of themselves, their visits and their friends. */

import { useMutation } from "@iolite/react";
import { type FormEvent, useId, useState } from "react";

import { Face } from "./Face";
import { Mark } from "./Mark";
import type { Person } from "./model";
import { PersonLink } from "./PersonLink";
import { subjects } from "./progress";
import { useTown } from "./town";

export function Profile({ person }: { person: Person }) {
  const { me, progress } = useTown();
  const { id, name, visits } = person;
  return (
    <section className="profile card" aria-label={`About ${name}`}>
      <Face name={name} />
      <div className="about">
        <h1>{name}</h1>
        <Status person={person} />
        <small className="visits">
          Visits: <span data-visits={visits}>{visits}</span> <Mark progress={progress(subjects.visits(id))} />
        </small>
      </div>
      {id !== me && <Befriend other={person} />}
      <Friends person={person} />
    </section>
  );
}

/** One's own can be written anew. */
function Status({ person: { id, status } }: { person: Person }) {
  const { me, progress } = useTown();
  const say = useMutation("say");
  const [draft, setDraft] = useState<string>();
  const label = useId();
  const mark = <Mark progress={progress(subjects.status(id))} />;
  if (id !== me) {
    return (
      <p className="status" data-status={status}>
        {status || "…"} {mark}
      </p>
    );
  }
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    // The button goes once all is saved.
    event.currentTarget.querySelector("input")?.focus();
    say({ id, status: (draft ?? status).trim() });
    setDraft(undefined);
  };
  return (
    <form className="status" data-status={status} onSubmit={submit}>
      <label htmlFor={label} className="unseen">
        Your status
      </label>
      <input id={label} placeholder="How are you?" maxLength={80} autoComplete="off" value={draft ?? status} onChange={({ target }) => setDraft(target.value)} />
      {draft !== undefined && draft.trim() !== status ? <button type="submit">Save</button> : mark}
    </form>
  );
}

function Befriend({ other: { id, name, friends } }: { other: Person }) {
  const { me } = useTown();
  const [befriend, unfriend] = [useMutation("befriend"), useMutation("unfriend")];
  return friends.has(me) ? (
    <button type="button" onClick={() => unfriend({ me, other: id })}>
      Remove {name} from my friends
    </button>
  ) : (
    <button type="button" className="main" onClick={() => befriend({ me, other: id })}>
      Make {name} my friend
    </button>
  );
}

function Friends({ person: { id, name, friends } }: { person: Person }) {
  const { progress, nameOf } = useTown();
  const sorted = [...friends].sort((one, other) => nameOf(one).localeCompare(nameOf(other)));
  return (
    <div className="friends">
      <h2>Friends</h2>
      {sorted.length === 0 && <small>None yet.</small>}
      <ul aria-label={`Friends of ${name}`}>
        {sorted.map((friend) => (
          <li key={friend} data-friend={friend}>
            <PersonLink id={friend} />
            <Mark progress={progress(subjects.friends(id, friend))} />
          </li>
        ))}
      </ul>
    </div>
  );
}
