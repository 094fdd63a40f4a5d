/** A list that lives in Node. The page holds a reference, and does not know where the list is. */

import { connectObjects, type Ref } from "@iolite/objects";
import { type FormEvent, useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import { TodoList } from "../objects.js";

/** How often the page looks whether others have changed the list, in milliseconds. */
const LOOK_EVERY_MS = 1000;

function App({ list }: { readonly list: Ref<TodoList> }) {
  const [items, setItems] = useState<TodoList["items"]>([]);
  const [problem, setProblem] = useState("");

  const run = useCallback(
    async (change?: () => Promise<unknown>) => {
      try {
        await change?.();
        setItems(await list.list());
        setProblem("");
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error));
      }
    },
    [list],
  );

  useEffect(() => {
    void run();
    const looking = setInterval(() => void run(), LOOK_EVERY_MS);
    return () => clearInterval(looking);
  }, [run]);

  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = String(new FormData(form).get("text") ?? "").trim();
    form.reset();
    if (text !== "") void run(() => list.add(text));
  };

  return (
    <main>
      <h1>To do</h1>
      <ul>
        {items.map((item, at) => (
          <li key={at}>
            <label>
              <input type="checkbox" checked={item.done} onChange={(event) => void run(() => list.mark(at, event.target.checked))} />
              {item.done ? <s>{item.text}</s> : item.text}
            </label>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <input name="text" aria-label="What is to be done" autoComplete="off" />
        <button>Add</button>
      </form>
      {problem !== "" && <p role="alert">{problem}</p>}
    </main>
  );
}

async function start(): Promise<void> {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  try {
    const host = await connectObjects({ classes: [TodoList] });
    root.render(<App list={await host.get(TodoList, "home", () => new TodoList())} />);
  } catch (error) {
    root.render(<p role="alert">{error instanceof Error ? error.message : String(error)}</p>);
  }
}

void start();
