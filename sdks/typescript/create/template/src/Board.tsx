import { useMutation, useReactive } from "@iolite/react";
import { type FormEvent, useState } from "react";

import { Ideas } from "./Ideas";
import { CHOICE, LONGEST_IDEA } from "./model";
import { Refused, Status } from "./Status";

export function Board() {
  const [who, setWho] = useState(() => localStorage.getItem("who") ?? "Somebody");
  const { data: choice } = useReactive((tx) => tx.choices.get(CHOICE), []);
  return (
    <main>
      <header>
        <h1>What do we do on Saturday?</h1>
        <Status />
      </header>
      <p className="soft">Open this in a second window: both show one list. End the server, go on, and start it again.</p>
      <label>
        You are
        <input
          value={who}
          maxLength={40}
          onChange={({ target }) => {
            setWho(target.value);
            localStorage.setItem("who", target.value);
          }}
        />
      </label>
      {choice !== undefined && (
        <p className="choice" role="status">
          <strong>{choice.idea}</strong>, chosen by {choice.by}
        </p>
      )}
      <Refused />
      <Ideas who={who} isChosen={choice !== undefined} />
      <Suggest />
    </main>
  );
}

function Suggest() {
  const suggest = useMutation("suggest");
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    suggest({ text: String(new FormData(event.currentTarget).get("text")) });
    event.currentTarget.reset();
  }
  return (
    <form onSubmit={submit}>
      <input name="text" aria-label="Your idea" placeholder="A picnic by the lake" maxLength={LONGEST_IDEA} required pattern=".*\S.*" title="Some words" />
      <button className="main">Suggest</button>
    </form>
  );
}
