/** A text that several people type into: what one types is an edit at its place, and the caret stays where it is when others type. */

import type { LiveTables, LiveText } from "@iolite/client";
import { type DependencyList, type TextareaHTMLAttributes, useLayoutEffect, useRef } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import { difference, moved } from "./difference.js";

export interface TextAreaProps extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "defaultValue" | "onChange"> {
  /** Which text: `(live) => live.notes(id).body`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveText;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
}

export function TextArea({ bind, deps = [], disabled, ...rest }: TextAreaProps) {
  const { data, live } = useLive<string, LiveText>(bind, deps);
  const area = useRef<HTMLTextAreaElement>(null);
  const shown = useRef("");
  const show = (): void => {
    const [own, text] = [area.current, live.written];
    if (own !== null && text !== undefined && text !== own.value) {
      const others = difference(own.value, text);
      const [start, end] = [moved(own.selectionStart, others), moved(own.selectionEnd, others)];
      own.value = text;
      own.setSelectionRange(start, end);
    }
    shown.current = own?.value ?? "";
  };
  useLayoutEffect(show, [data, live]);
  const write = ({ value, selectionStart }: HTMLTextAreaElement): void => {
    const typed = difference(shown.current, value, selectionStart);
    // What others did that is not shown yet.
    const others = difference(shown.current, live.written ?? shown.current);
    const [at, end] = [moved(typed.at, others), moved(typed.at + typed.removed, others)];
    live.splice(at, end - at, typed.inserted);
    shown.current = value;
    show();
  };
  return <textarea {...rest} ref={area} disabled={disabled === true || data === undefined} onInput={({ currentTarget }) => write(currentTarget)} />;
}
