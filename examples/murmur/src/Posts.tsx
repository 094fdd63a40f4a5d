/** The last posts of a list, newest first: the list's end is bound together with the rows that it names (the papers' `rmap_objectrange`). */

import type { LiveList as LiveIds } from "@iolite/client";
import { LiveList, type RegisteredClient, useLive, useMutation } from "@iolite/react";
import { type Mark, MARK_WORDS, useMarks } from "examples-page";
import { useState } from "react";

import { Face } from "./Face";
import { type Post, schema } from "./model";

const PAGE = 20;

interface PostsProps {
  /** Who reads. */
  readonly user: string;
  readonly of: (live: RegisteredClient["live"]) => LiveIds<string>;
  readonly empty: string;
}

export function Posts({ user, of, empty }: PostsProps) {
  const [most, setMost] = useState(PAGE);
  const { data: ids, isKept = false, isUnavailable } = useLive((live) => of(live).slice(-most), [user, most], { keepData: true });
  const markOf = useMarks((args) => (args as { id?: string }).id);
  return (
    <>
      <ol className="posts" aria-label="Posts">
        <LiveList
          bind={(live) => of(live).slice(-most).rows(schema.tables.posts)}
          deps={[user, most]}
          keyOf={(post, index) => post?.id ?? index}
          newestFirst
          keepData
          empty={<li className="none">{empty}</li>}
          loading={isUnavailable && <li className="none">Not on this device yet, and there is no connection.</li>}
        >
          {(post) => post && <OnePost post={post} user={user} mark={markOf(post.id)} />}
        </LiveList>
      </ol>
      {(ids?.length === most || isKept) && (
        <button type="button" disabled={isKept} onClick={() => setMost(most + PAGE)}>
          Older
        </button>
      )}
    </>
  );
}

function OnePost({ post, user, mark }: { post: Post; user: string; mark: Mark }) {
  const like = useMutation("like");
  const liked = post.likedBy.has(user);
  return (
    <li className={mark === "sent" ? "post card" : "post card waiting"} data-post={post.text} data-mark={mark}>
      <Face name={post.by} />
      <div>
        <p>
          <a href={`#/${post.by}`}>
            <strong>{post.by}</strong>
          </a>{" "}
          <small>{MARK_WORDS[mark] || when(post.at)}</small>
        </p>
        <p className="text">{post.text}</p>
        <button type="button" className="like" aria-pressed={liked} aria-label={`Like, ${post.likes} so far`} onClick={() => like({ post: post.id, user })}>
          {liked ? "♥" : "♡"} {post.likes}
        </button>
      </div>
    </li>
  );
}

function when(at: number): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString("en-GB", today ? { timeStyle: "short" } : { dateStyle: "medium" });
}
