/** Where one writes, and under which name. */

import { type FormEvent, type KeyboardEvent, useState } from "react";

import { LONGEST } from "./lengths";

interface ComposerProps {
  readonly name: string;
  readonly onRename: (name: string) => void;
  readonly onSay: (text: string) => void;
}

export function Composer({ name, onRename, onSay }: ComposerProps) {
  const [draft, setDraft] = useState("");
  function send(event: FormEvent | KeyboardEvent): void {
    event.preventDefault();
    if (draft.trim() !== "") {
      onSay(draft.trim());
      setDraft("");
    }
  }
  return (
    <form className="composer" onSubmit={send}>
      <NameField name={name} onRename={onRename} />
      <textarea
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        maxLength={LONGEST.text}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing && send(event)}
      />
      <button type="submit" className="main" disabled={draft.trim() === ""}>
        Send
      </button>
    </form>
  );
}

/** Others see the name when it is done, not letter by letter. */
function NameField({ name, onRename }: Pick<ComposerProps, "name" | "onRename">) {
  const [draft, setDraft] = useState(name);
  function rename(): void {
    const next = draft.trim() || name;
    setDraft(next);
    onRename(next);
  }
  return (
    <label className="name">
      Your name
      <input
        value={draft}
        maxLength={LONGEST.name}
        autoComplete="off"
        onChange={({ target }) => setDraft(target.value)}
        onBlur={rename}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            rename();
          }
        }}
      />
    </label>
  );
}
