/** Where one writes, and under which name. */

import { type FormEvent, type KeyboardEvent, useState } from "react";

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
      <input aria-label="Your name" className="name" value={name} maxLength={24} onChange={({ target }) => onRename(target.value)} />
      <textarea
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        maxLength={2000}
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
