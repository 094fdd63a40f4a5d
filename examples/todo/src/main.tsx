/** A list that lives in Node. The page has a reference to it, and says who has to wait for whom; where a method runs is not its business. */

import { CallError, connectObjects, type Connection, type Ref } from "@iolite/objects";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

import { TodoList } from "../objects.js";
import "./todo.css";

/** How often the page looks whether others have changed the list, in milliseconds. Longer than a lease, so that others get one in between. */
const LOOK_EVERY_MS = 1500;

/** How long the page waits for the lease of another one, and how often it asks. */
const PATIENCE_MS = 10_000;
const ASK_AGAIN_MS = 150;

/** Calls until no other page has the list any more. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CallError && error.reason === "leaseUnavailable") || performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

function problemOf(error: unknown): string {
  if (error instanceof CallError && error.ran === "unknown") return "The network went away in the middle. Look whether your change is there.";
  if (error instanceof CallError && error.reason === "unreachable") return "The list cannot be reached. Try again when it can.";
  return error instanceof Error ? error.message : String(error);
}

function App({ list, connection }: { readonly list: Ref<TodoList>; readonly connection: Connection }) {
  const [items, setItems] = useState<TodoList["items"]>([]);
  const [text, setText] = useState("");
  /** The problem of the last change, and that of the last look. */
  const [failed, setFailed] = useState("");
  const [unseen, setUnseen] = useState("");
  const changing = useRef(0);
  const isOnline = connection.state === "open";

  const look = useCallback(async () => {
    try {
      const seen = await patiently(() => list.list());
      // What one changes oneself is shown at once, and not taken back by a look that began before.
      if (changing.current === 0) setItems(seen);
      setUnseen("");
    } catch (error) {
      setUnseen(problemOf(error));
    }
  }, [list]);

  useEffect(() => {
    if (!isOnline) return;
    void look();
    const looking = setInterval(() => void (document.hidden || changing.current > 0 || look()), LOOK_EVERY_MS);
    return () => clearInterval(looking);
  }, [look, isOnline]);

  /** Runs a method at what is shown, and then at the list itself. */
  const change = async (method: (list: TodoList | Ref<TodoList>) => unknown) => {
    const shown = Object.assign(new TodoList(), { items: structuredClone(items) });
    method(shown);
    setItems(shown.items);
    changing.current += 1;
    const problem = await patiently(async () => method(list)).then(() => "", problemOf);
    changing.current -= 1;
    setFailed(problem);
    await look();
  };

  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (text.trim() === "" || !isOnline) return;
    setText("");
    void change((to) => to.add(text.trim()));
  };

  return (
    <main>
      <h1>To do</h1>
      <ul>
        {items.map((item, at) => (
          <li key={at}>
            <label>
              <input type="checkbox" checked={item.done} disabled={!isOnline} onChange={({ target }) => void change((of) => of.mark(at, target.checked))} />
              {item.done ? <s>{item.text}</s> : item.text}
            </label>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <input value={text} onChange={({ target }) => setText(target.value)} aria-label="What is to be done" placeholder="What is to be done" autoComplete="off" />
        <button disabled={!isOnline}>Add</button>
      </form>
      {connection.state === "lost" && <p role="alert">No connection. This is the list as it was; you can change it when the network is back.</p>}
      {connection.state === "ended" && <p role="alert">{connection.message}</p>}
      {failed !== "" && <p role="alert">{failed}</p>}
      {isOnline && unseen !== "" && unseen !== failed && <p role="alert">{unseen}</p>}
    </main>
  );
}

async function start(): Promise<void> {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  let list: Ref<TodoList> | undefined;
  const show = (connection: Connection) => list && root.render(<App list={list} connection={connection} />);
  try {
    const host = await connectObjects({ classes: [TodoList], onConnection: show });
    list = await host.get(TodoList, "home", () => new TodoList());
    show(host.connection);
  } catch (error) {
    root.render(<p role="alert">{problemOf(error)}</p>);
  }
}

void start();
