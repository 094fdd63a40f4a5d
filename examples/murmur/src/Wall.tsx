/** What one user wrote. */

import { useReactive } from "@iolite/react";

import { Face } from "./Face";
import { Follow } from "./People";
import { Posts } from "./Posts";

export function Wall({ owner, user }: { owner: string; user: string }) {
  const { data } = useReactive((tx) => tx.users.get(owner), [owner]);
  return (
    <>
      <section className="owner card">
        <Face name={owner} />
        <div>
          <h1>{owner}</h1>
          <small>{data && `Followers: ${data.followers.size}, follows: ${data.following.size}`}</small>
        </div>
        {data && owner !== user && <Follow user={user} other={owner} follows={data.followers.has(user)} />}
      </section>
      <Posts user={user} of={(live) => live.walls(owner)} empty="Nothing written yet." />
    </>
  );
}
