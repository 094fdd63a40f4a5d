/** A form for one account, new or seen. What it writes rests on the account as it was when the form was opened. */

import { type FormEvent, useEffect, useId, useRef, useState } from "react";

import { type Fields, FIELDS, type Field } from "./account";
import { LABELS } from "./labels";
import type { Safe, SeenAccount } from "./safe";

interface AccountDialogProps {
  readonly safe: Safe;
  /** Undefined: a new one. */
  readonly seen: SeenAccount | undefined;
  readonly onClose: () => void;
}

export function AccountDialog({ safe, seen, onClose }: AccountDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [isShown, show] = useState(seen === undefined);
  useEffect(() => dialog.current?.showModal(), []);
  const isGone = seen !== undefined && !safe.accounts?.some(({ id }) => id === seen.id);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = fieldsOf(new FormData(event.currentTarget));
    if (seen === undefined || isGone) {
      safe.add(fields);
    } else {
      safe.change(seen, fields);
    }
    dialog.current?.close();
  };
  const remove = (known: SeenAccount): void => {
    safe.remove(known);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} className="card account" aria-labelledby={title} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={title}>{seen?.name ?? "New account"}</h2>
        {isGone && <p role="alert">This account was deleted meanwhile. Saving adds it again.</p>}
        {FIELDS.map((field) => (
          <Entry key={field} field={field} value={seen?.[field] ?? ""} isHidden={field === "password" && !isShown} />
        ))}
        <label className="check">
          <input type="checkbox" checked={isShown} onChange={({ target }) => show(target.checked)} />
          Show the password
        </label>
        <div className="answers">
          {seen !== undefined && !isGone && (
            <button type="button" className="delete" onClick={() => remove(seen)}>
              Delete
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="main">
            Save
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Entry({ field, value, isHidden }: { field: Field; value: string; isHidden: boolean }) {
  const id = useId();
  const common = { id, name: field, defaultValue: value, autoComplete: "off", spellCheck: field === "notes" };
  return (
    <div className="entry">
      <label htmlFor={id}>{LABELS[field]}</label>
      {field === "notes" ? <textarea {...common} rows={3} /> : <input {...common} type={isHidden ? "password" : "text"} required={field === "name"} />}
    </div>
  );
}

function fieldsOf(form: FormData): Fields {
  return Object.fromEntries(FIELDS.map((field) => [field, String(form.get(field) ?? "")])) as unknown as Fields;
}
