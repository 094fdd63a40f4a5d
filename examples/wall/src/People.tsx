/** All people who are here, and who one is among them. */

import { SecondWindow } from "examples-page";

import { Face } from "./Face";
import { PersonLink } from "./PersonLink";
import { useTown } from "./town";

export function People({ shown, onLeave }: { shown: string; onLeave: () => void }) {
  const { me, people, nameOf } = useTown();
  return (
    <aside className="people card" aria-label="People">
      <h2>People</h2>
      <ul>
        {people.map(({ id, name }) => (
          <li key={id}>
            <PersonLink id={id} current={id === shown}>
              <Face name={name} />
            </PersonLink>
            {id === me && <small>you</small>}
          </li>
        ))}
      </ul>
      <p className="you">
        You are {nameOf(me)}.{" "}
        <button type="button" onClick={onLeave}>
          Be somebody else
        </button>
      </p>
      <SecondWindow />
    </aside>
  );
}
