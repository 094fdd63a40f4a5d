/** Forms: fields that are shared, and a form that is sent as a whole. */

import { type Id, MutationError } from "@iolite/client";
import { CheckBox, TextArea, TextBox, useMutation } from "@iolite/react";
import { type FormEvent, useState } from "react";

import "./register.js";

export function TaskFields({ id }: { id: Id }) {
  const [problem, setProblem] = useState("");
  const onError = (error: Error): void => setProblem(error.message);
  return (
    <fieldset>
      <CheckBox aria-label="Done" bind={(live) => live.tasks(id).done} deps={[id]} />
      <TextBox aria-label="Title" bind={(live) => live.tasks(id).title} deps={[id]} onError={onError} />
      <TextArea aria-label="Notes" bind={(live) => live.tasks(id).notes} deps={[id]} onError={onError} />
      {problem !== "" && <p role="alert">{problem}</p>}
    </fieldset>
  );
}

export function NewTask({ project }: { project: string }) {
  const addTask = useMutation("addTask");
  const [problem, setProblem] = useState("");
  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = event.currentTarget;
    const title = String(new FormData(form).get("title"));
    form.reset();
    try {
      await addTask({ project, title }).until("confirmed");
      setProblem("");
    } catch (error) {
      setProblem(error instanceof MutationError ? error.reason : String(error));
    }
  }
  return (
    <form onSubmit={submit}>
      <label>
        Title <input name="title" maxLength={200} required />
      </label>
      <button>Add</button>
      {problem !== "" && <p role="alert">{problem}</p>}
    </form>
  );
}
