/** The form in which one says who one is. There are no passwords: a development server has one token for all. */

import { useMutation } from "@iolite/react";
import { SecondWindow } from "examples-page";
import { type FormEvent, useState } from "react";

import { Face } from "./Face";
import type { Person } from "./model";

export function Door({ people, onEnter }: { people: readonly Person[]; onEnter: (id: string) => void }) {
  const join = useMutation("join");
  const [name, setName] = useState("");
  const id = idOf(name);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    join({ id, name: name.trim() });
    onEnter(id);
  };
  return (
    <main className="door">
      <form className="card" onSubmit={submit}>
        <h1>Who are you?</h1>
        {people.length > 0 && (
          <ul aria-label="People who are here">
            {people.map((person) => (
              <li key={person.id}>
                <button type="button" onClick={() => onEnter(person.id)}>
                  <Face name={person.name} />
                  {person.name}
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="new">
          <input aria-label="Your name" placeholder="Ada" maxLength={20} autoComplete="off" value={name} onChange={({ target }) => setName(target.value)} />
          <button type="submit" className="main" disabled={id === ""}>
            Enter
          </button>
        </div>
      </form>
      <SecondWindow />
    </main>
  );
}

/** Makes the id from the name: one name on two devices is one person, also if neither has a network. */
function idOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{Letter}\p{Number}]/gu, "");
}
