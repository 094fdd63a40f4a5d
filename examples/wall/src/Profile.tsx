/** A person: what they say of themselves, their visits, their friends, and who asks to be one. */

import { useMutation } from "@iolite/react";
import { type FormEvent, type MouseEvent, useId, useState } from "react";

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
    <section className="profile card" tabIndex={-1} aria-label={`About ${name}`}>
      <Face name={name} />
      <div className="about">
        <h1>{name}</h1>
        <Status person={person} />
        <small className="visits">
          Visits: <span data-visits={visits}>{visits}</span> <Mark progress={progress(subjects.visits(id))} />
        </small>
      </div>
      {id === me ? <Requests person={person} /> : <Friendship other={person} />}
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

/** The next step to be friends with somebody, or back. */
function Friendship({ other: { id, name, friends, requests } }: { other: Person }) {
  const { me, people, progress } = useTown();
  const [ask, withdraw, accept, unfriend] = [useMutation("ask"), useMutation("withdraw"), useMutation("accept"), useMutation("unfriend")];
  const isAsked = people.find((person) => person.id === me)?.requests.has(id) ?? false;
  const [step, words, isMain] = friends.has(me)
    ? [unfriend, `Remove ${name} from my friends`, false]
    : isAsked
      ? [accept, `Accept ${name} as my friend`, true]
      : requests.has(me)
        ? [withdraw, "Take back my request", false]
        : [ask, `Ask ${name} to be my friend`, true];
  return (
    <p className="friendship">
      <button type="button" className={isMain ? "main" : undefined} onClick={() => step({ me, other: id })}>
        {words}
      </button>
      {requests.has(me) && <Mark progress={progress(subjects.friends(me, id))} />}
    </p>
  );
}

/** The people who ask to be one's friends. A friend is none of them, though one device may ask while another one accepts. */
function Requests({ person: { requests, friends } }: { person: Person }) {
  const { me, nameOf } = useTown();
  const [accept, decline] = [useMutation("accept"), useMutation("decline")];
  const open = [...requests].filter((id) => !friends.has(id));
  const answer = ({ currentTarget }: MouseEvent, step: typeof accept, other: string): void => {
    // The buttons go with the request.
    currentTarget.closest("section")?.focus();
    step({ me, other });
  };
  return (
    open.length > 0 && (
      <ul className="requests" aria-label="Who asks to be your friend">
        {open.map((other) => (
          <li key={other} data-request={other}>
            <span>
              <PersonLink id={other} /> asks to be your friend.
            </span>
            <button type="button" className="main" aria-label={`Accept ${nameOf(other)}`} onClick={(event) => answer(event, accept, other)}>
              Accept
            </button>
            <button type="button" aria-label={`Decline ${nameOf(other)}`} onClick={(event) => answer(event, decline, other)}>
              Decline
            </button>
          </li>
        ))}
      </ul>
    )
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
