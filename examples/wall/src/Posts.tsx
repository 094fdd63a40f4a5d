/** The posts on a wall, newest first, and the form with which one writes on it. */

import { newId } from "@iolite/client";
import { useMutation, useReactive } from "@iolite/react";
import { type FormEvent, useRef, useState } from "react";

import { Face } from "./Face";
import { Mark } from "./Mark";
import type { Person, Post } from "./model";
import { PersonLink } from "./PersonLink";
import { subjects } from "./progress";
import { useTown } from "./town";

export function Posts({ person: { id: of, name } }: { person: Person }) {
  const { data: posts, isUnavailable } = useReactive((tx) => [...tx.wall.range({ prefix: [of] })].sort(newestFirst), [of]);
  const remove = useMutation("remove");
  const list = useRef<HTMLElement>(null);
  const onRemove = ({ id }: Post): void => {
    // Its button goes with the post.
    list.current?.focus();
    remove({ of, id });
  };
  return (
    <>
      <Composer of={of} name={name} />
      <section ref={list} tabIndex={-1} aria-label={`The wall of ${name}`}>
        {posts?.length === 0 && <p className="none">Nothing here yet. Write something: it shows at once, also without a network.</p>}
        {isUnavailable && <p className="none">This wall is not on this device yet, and there is no connection.</p>}
        <ol className="posts">
          {posts?.map((post) => (
            <OnePost key={post.id} post={post} onRemove={onRemove} />
          ))}
        </ol>
      </section>
    </>
  );
}

function Composer({ of, name }: { of: string; name: string }) {
  const { me } = useTown();
  const write = useMutation("write");
  const [text, setText] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    write({ of, id: newId(), by: me, text: text.trim() });
    setText("");
  };
  return (
    <form className="composer card" onSubmit={submit}>
      <textarea
        aria-label={of === me ? "Write on your wall" : `Write on the wall of ${name}`}
        placeholder={of === me ? "What do you do?" : `Say something to ${name}`}
        rows={2}
        maxLength={280}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <button type="submit" className="main" disabled={text.trim() === ""}>
        Write
      </button>
    </form>
  );
}

function OnePost({ post, onRemove }: { post: Post; onRemove: (post: Post) => void }) {
  const { me, progress, nameOf } = useTown();
  const { of, id, by, text, at } = post;
  return (
    <li className="post card" data-post={text}>
      <Face name={nameOf(by)} />
      <div>
        <p className="by">
          <strong>
            <PersonLink id={by} />
          </strong>{" "}
          <small>{when(at)}</small> <Mark progress={progress(subjects.post(id))} />
        </p>
        <p className="text">{text}</p>
      </div>
      {(by === me || of === me) && (
        <button type="button" className="delete" aria-label={`Delete “${text.slice(0, 40)}”`} onClick={() => onRemove(post)}>
          ×
        </button>
      )}
    </li>
  );
}

function newestFirst(one: Post, other: Post): number {
  return other.at - one.at || (one.id < other.id ? -1 : 1);
}

function when(at: number): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString("en-GB", today ? { timeStyle: "short" } : { dateStyle: "medium" });
}
