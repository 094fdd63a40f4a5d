/** The messages, oldest first, under their days. */

import { Fragment } from "react";

import type { Message } from "../schema";
import type { Marks } from "../sync/marks";
import { TextMark } from "../sync/PlanMark";
import { dayOf, isSameDay, timeOf } from "./days";

/** Messages of one person within this time are shown as one. */
const TOGETHER_MS = 5 * 60_000;

interface MessagesProps {
  readonly messages: readonly Message[];
  readonly marks: Marks;
  readonly by: string;
  /** The first message that is new. */
  readonly marker: string | undefined;
}

export function Messages({ messages, marks, by, marker }: MessagesProps) {
  const now = Date.now();
  return messages.map((message, index) => {
    const before = messages[index - 1];
    const newDay = before === undefined || !isSameDay(before.at, message.at);
    const goesOn = !newDay && before.by === message.by && message.at - before.at < TOGETHER_MS && marker !== message.id;
    return (
      <Fragment key={message.id}>
        {newDay && <li className="day">{dayOf(message.at, now)}</li>}
        {marker === message.id && <li className="new-marker">New</li>}
        <MessageLine message={message} mine={message.by === by} goesOn={goesOn} marks={marks} />
      </Fragment>
    );
  });
}

interface MessageLineProps {
  readonly message: Message;
  readonly mine: boolean;
  readonly goesOn: boolean;
  readonly marks: Marks;
}

function MessageLine({ message, mine, goesOn, marks }: MessageLineProps) {
  const mark = marks.get(message.id) ?? "confirmed";
  const classes = ["message", mine && "mine", goesOn && "goes-on", `message-${mark}`];
  return (
    <li className={classes.filter(Boolean).join(" ")} data-message={message.id} data-mark={mark}>
      {!goesOn && <strong>{mine ? "You" : message.author}</strong>}
      <p>{message.text}</p>
      <span className="message-foot">
        <time dateTime={new Date(message.at).toISOString()}>{timeOf(message.at)}</time>
        {mine && <TextMark mark={mark} />}
      </span>
    </li>
  );
}
