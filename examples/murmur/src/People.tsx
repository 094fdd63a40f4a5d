/** Who else is here, to follow. */

import { useMutation, useReactive } from "@iolite/react";
import { SecondWindow } from "examples-page";

import { Face } from "./Face";

const SHOWN = 50;

export function People({ user }: { user: string }) {
  const { data = [] } = useReactive((tx) => tx.users.range({ limit: SHOWN }), []);
  return (
    <aside className="card" aria-label="People">
      <h2>People</h2>
      <ul>
        {data.map(({ id, followers }) => (
          <li key={id}>
            <a href={`#/${id}`}>
              <Face name={id} />
              {id}
            </a>
            {id === user ? <small>you</small> : <Follow user={user} other={id} follows={followers.has(user)} />}
          </li>
        ))}
      </ul>
      <SecondWindow />
    </aside>
  );
}

export function Follow({ user, other, follows }: { user: string; other: string; follows: boolean }) {
  const follow = useMutation("follow");
  const unfollow = useMutation("unfollow");
  return (
    <button type="button" aria-label={`${follows ? "Unfollow" : "Follow"} ${other}`} onClick={() => (follows ? unfollow : follow)({ user, other })}>
      {follows ? "Following" : "Follow"}
    </button>
  );
}
