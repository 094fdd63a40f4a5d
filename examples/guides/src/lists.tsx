/** Lists: a query whose answer is followed, one page more, and a mark for what is not confirmed. */

import { useReactive, useUnconfirmed } from "@iolite/react";
import { useState } from "react";

import type { Task } from "./model.js";
import "./register.js";

export function OpenTasks({ project }: { project: string }) {
  const [most, setMost] = useState(20);
  const { data = [], isLoading, isUnavailable } = useReactive(
    (tx) => tx.tasks.where({ project, done: false }).orderBy("createdAt", "desc").limit(most).all(),
    [project, most],
    { keepData: true },
  );
  if (isUnavailable) {
    return <p>These tasks are not on this device yet, and there is no connection.</p>;
  }
  return (
    <>
      <ul aria-busy={isLoading}>
        {data.map((task) => (
          <Row key={task.id} task={task} />
        ))}
      </ul>
      {data.length === most && <button onClick={() => setMost(most + 20)}>More</button>}
    </>
  );
}

function Row({ task }: { task: Task }) {
  const isWaiting = useUnconfirmed((tx) => tx.tasks.get(task.id), [task.id]);
  return (
    <li>
      {task.title} {isWaiting && <small>not saved everywhere yet</small>}
    </li>
  );
}
