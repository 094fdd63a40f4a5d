/** The page: one's own wall, or that of the person in the address. */

import { useClient, useReactive } from "@iolite/react";
import { NetworkSwitch, Refusals, SyncChip, useRoute } from "examples-page";
import { useEffect, useState } from "react";

import { CentreChip } from "./CentreChip";
import { Door } from "./Door";
import { Events } from "./Events";
import { People } from "./People";
import { Posts } from "./Posts";
import { Profile } from "./Profile";
import { useProgress } from "./progress";
import { TownContext, useTown } from "./town";

const ME = "wall.me";

export function App() {
  const client = useClient();
  const { data: people, isUnavailable } = useReactive((tx) => tx.people.range(), []);
  const [me, setMe] = useState(localStorage.getItem(ME));
  const shown = useRoute(me ?? "");
  const progress = useProgress();
  // All walls are kept on this device, so that each is there without a network.
  useEffect(() => client.pin((tx) => tx.wall.range()), [client]);
  const enter = (id: string): void => {
    localStorage.setItem(ME, id);
    setMe(id);
  };
  return (
    <div className="page">
      <header>
        <p className="title">
          <a href="#/">Wall</a>
        </p>
        <CentreChip />
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={(name) => name} />
      </header>
      {people === undefined ? (
        <p className="none" role="status">
          {isUnavailable ? "The walls are not on this device yet, and there is no connection." : "The walls are being read …"}
        </p>
      ) : me === null ? (
        <Door people={people} onEnter={enter} />
      ) : (
        <TownContext value={{ me, people, progress }}>
          <Wall key={shown} owner={shown} />
          <People shown={shown} onLeave={() => setMe(null)} />
          <Events />
        </TownContext>
      )}
    </div>
  );
}

function Wall({ owner }: { owner: string }) {
  const person = useTown().people.find(({ id }) => id === owner);
  return (
    <main>
      {person === undefined ? (
        <h1 className="none">There is nobody called {owner} here.</h1>
      ) : (
        <>
          <Profile person={person} />
          <Posts person={person} />
        </>
      )}
    </main>
  );
}
