/** The room's name, likes and tags. */

import { useMutation } from "@iolite/react";
import { useState } from "react";

import type { Room } from "../schema";
import { DraftInput } from "../styles/DraftInput";
import { Icon } from "../styles/Icon";
import { RoomMenu } from "./RoomMenu";

export function RoomHeader({ room }: { room: Room }) {
  const rename = useMutation("renameRoom");
  const like = useMutation("likeRoom");
  return (
    <div className="room-header">
      <h1>
        <DraftInput
          label="Name of the room"
          className="room-name"
          value={room.name}
          maxLength={40}
          onCommit={(name) => rename({ room: room.id, name })}
        />
      </h1>
      <RoomMenu room={room} />
      <button type="button" className="like" aria-label={`Like this room; ${room.likes} likes`} onClick={() => like({ room: room.id })}>
        <Icon name="heart" />
        <span data-likes={room.likes}>{room.likes}</span>
      </button>
      <Tags room={room} />
    </div>
  );
}

function Tags({ room }: { room: Room }) {
  const tag = useMutation("tagRoom");
  const untag = useMutation("untagRoom");
  const [draft, setDraft] = useState("");
  return (
    <ul className="tags" aria-label="Tags">
      {[...room.tags].sort().map((name) => (
        <li key={name} data-tag={name}>
          {name}
          <button type="button" aria-label={`Take away the tag ${name}`} onClick={() => untag({ room: room.id, tag: name })}>
            <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const name = draft.trim().toLowerCase();
            if (name !== "") {
              tag({ room: room.id, tag: name });
              setDraft("");
            }
          }}
        >
          <input
            aria-label="New tag"
            placeholder="+ tag"
            value={draft}
            maxLength={20}
            onChange={(event) => setDraft(event.target.value)}
          />
        </form>
      </li>
    </ul>
  );
}
