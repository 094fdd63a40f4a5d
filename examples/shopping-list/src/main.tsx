import { createClient, developmentServer, newId } from "@iolite/client";
import { IoliteProvider, useClient, useConnectionState, useMutation, usePending, useRefused } from "@iolite/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

import { Items } from "./Items";
import { type App, mutators, schema } from "./model";

declare module "@iolite/react" {
  interface Register {
    client: App;
  }
}

function Page() {
  const add = useMutation("add");
  const [who, setWho] = useState("Somebody");
  return (
    <main>
      <h1>Shopping</h1>
      <p>Open this in a second window: both show one list.</p>
      <p>
        You are <input aria-label="You" value={who} onChange={({ target }) => setWho(target.value)} />
      </p>
      <Items who={who} me={me} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add({ what: String(new FormData(event.currentTarget).get("what")) });
          event.currentTarget.reset();
        }}
      >
        <input name="what" aria-label="What to add" placeholder="What do we need?" required />
        <button>Add</button>
      </form>
      <State />
    </main>
  );
}

function State() {
  const client = useClient();
  const { status } = useConnectionState();
  const waiting = usePending().length;
  return (
    <>
      <p role="status">{`${status}, ${waiting} waiting`}</p>
      {useRefused().map(({ id, reason }) => (
        <p key={id} role="alert">
          {reason} <button onClick={() => client.dismiss(id)}>All right</button>
        </p>
      ))}
    </>
  );
}

const me: string = (localStorage["me"] ??= newId());
const server = await developmentServer();
const client = await createClient({ ...server, as: { sub: me }, name: "shopping", user: me, schema, mutators });

createRoot(document.getElementById("root")!).render(
  <IoliteProvider client={client}>
    <Page />
  </IoliteProvider>,
);
