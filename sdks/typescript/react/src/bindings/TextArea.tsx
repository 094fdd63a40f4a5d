/** A text that several people type into: what one types is an edit at its place, and the caret stays where it is when others type. */

import type { LiveTables, LiveText } from "@iolite/client";
import { type DependencyList, type TextareaHTMLAttributes, useEffect, useLayoutEffect, useMemo, useRef } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import type { OnError } from "./onError.js";
import { Typing } from "./typing.js";

export interface TextAreaProps
  extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "defaultValue" | "onChange" | "onError"> {
  /** Which text: `(live) => live.notes(id).body`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveText;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  /** Hears why something that was typed cannot be written, such as a paste that is too large; the box shows the text without it. */
  readonly onError?: OnError;
}

export function TextArea({ bind, deps = [], disabled, onError, ...rest }: TextAreaProps) {
  const { data, live } = useLive<string, LiveText>(bind, deps);
  const area = useRef<HTMLTextAreaElement>(null);
  const typing = useMemo(() => new Typing(live), [live]);
  const meet = (): void => {
    if (area.current !== null) {
      typing.meet(area.current, onError);
    }
  };
  useLayoutEffect(meet, [data, typing]);
  useEffect(() => () => typing.end(), [typing]);
  return <textarea {...rest} ref={area} disabled={disabled === true || data === undefined} onInput={meet} />;
}
