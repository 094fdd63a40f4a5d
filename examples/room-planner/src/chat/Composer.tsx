/** Where one writes. */

import { useMutation } from "@iolite/react";
import type { Me } from "examples-page";
import { useState, type KeyboardEvent } from "react";

import { DraftInput } from "../styles/DraftInput";
import { Icon } from "../styles/Icon";
import { messageId } from "./messageId";

const LONGEST = 2000;

interface ComposerProps {
  readonly room: string;
  readonly me: Me;
  readonly onRename: (name: string) => void;
  readonly onSent: () => void;
}

export function Composer({ room, me, onRename, onSent }: ComposerProps) {
  const say = useMutation("say");
  const [draft, setDraft] = useState("");
  function send(): void {
    const text = draft.trim();
    if (text !== "") {
      say({ room, id: messageId(Date.now()), author: me.name, by: me.id, text });
      setDraft("");
      onSent();
    }
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label className="author">
        You write as
        <DraftInput label="Your name" value={me.name} maxLength={24} onCommit={onRename} />
      </label>
      <textarea
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        maxLength={LONGEST}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <button type="submit" className="send" aria-label="Send" disabled={draft.trim() === ""}>
        <Icon name="send" />
      </button>
    </form>
  );
}
