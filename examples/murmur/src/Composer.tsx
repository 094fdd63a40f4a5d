/** Where one writes. */

import { newId } from "@iolite/client";
import { useMutation } from "@iolite/react";
import { useState } from "react";

export function Composer({ user }: { user: string }) {
  const post = useMutation("post");
  const [text, setText] = useState("");
  return (
    <form
      className="composer card"
      onSubmit={(event) => {
        event.preventDefault();
        post({ id: newId(), by: user, text: text.trim() });
        setText("");
      }}
    >
      <textarea
        aria-label="Post"
        placeholder="What do you see?"
        rows={2}
        maxLength={200}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <small>{200 - text.length}</small>
      <button type="submit" className="main" disabled={text.trim() === ""}>
        Post
      </button>
    </form>
  );
}
