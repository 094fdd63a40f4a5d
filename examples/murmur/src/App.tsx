/** One's timeline, or the wall of the user in the address. */

import { useMutation } from "@iolite/react";
import { NetworkSwitch, Refusals, SecondWindow, SyncChip, useRoute } from "examples-page";
import { useState } from "react";

import { Composer } from "./Composer";
import { People } from "./People";
import { Posts } from "./Posts";
import { Wall } from "./Wall";

const USER = "murmur.user";
const HOME = "home";

export function App() {
  const [user, setUser] = useState(localStorage.getItem(USER));
  const shown = useRoute(HOME);
  function enter(name: string): void {
    localStorage.setItem(USER, name);
    setUser(name);
  }
  return (
    <div className="page">
      <header>
        <h1>
          <a href="#/">Murmur</a>
        </h1>
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={(name, args) => `${name} ${(args as { text?: string }).text ?? ""}`} />
      </header>
      {user === null ? (
        <Door onEnter={enter} />
      ) : (
        <>
          <main>
            {shown === HOME ? (
              <>
                <Composer user={user} />
                <Posts user={user} of={(live) => live.timelines(user)} empty="Nothing yet. Follow somebody, or write the first post." />
              </>
            ) : (
              <Wall key={shown} owner={shown} user={user} />
            )}
          </main>
          <People user={user} />
        </>
      )}
    </div>
  );
}

/** There are no passwords: a development server has one token for all. */
function Door({ onEnter }: { onEnter: (name: string) => void }) {
  const join = useMutation("join");
  const [name, setName] = useState("");
  return (
    <main className="door">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          join(name);
          onEnter(name);
        }}
      >
        <p>Short posts, of those whom one follows.</p>
        <h2>Who are you?</h2>
        <input
          aria-label="Your name"
          placeholder="ada"
          value={name}
          maxLength={20}
          autoCapitalize="none"
          autoComplete="off"
          onChange={({ target }) => setName(target.value.toLowerCase().replaceAll(/[^a-z0-9_]/g, ""))}
        />
        <button type="submit" className="main" disabled={name === "" || name === HOME}>
          Enter
        </button>
      </form>
      <SecondWindow />
    </main>
  );
}
