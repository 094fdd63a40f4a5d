/** Where one writes. */

import { useMutation, useReactive } from "@iolite/react";
import { ownId, ownNewest } from "examples-page";
import { useState } from "react";

export function Composer({ user }: { user: string }) {
  const post = useMutation("post");
  // What one writes without a network has its place then.
  useReactive((tx) => tx.posts.range(ownNewest(user)), [user]);
  const [text, setText] = useState("");
  return (
    <form
      className="composer card"
      onSubmit={(event) => {
        event.preventDefault();
        post({ id: ownId(user), by: user, text: text.trim() });
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
