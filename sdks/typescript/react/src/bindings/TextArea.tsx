/** A text that several people type into: what one types is an edit at its place, and the caret stays where it is when others type. */

import type { LiveTables, LiveText } from "@iolite/client";
import type { DependencyList, TextareaHTMLAttributes } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import type { OnError } from "./onError.js";
import { useTyping } from "./useTyping.js";

export interface TextAreaProps
  extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "defaultValue" | "onChange" | "onError"> {
  /** Which text: `(live) => live.notes(id).body`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveText;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  /** Hears why something that was typed cannot be written, such as a paste that is too large, or was refused later; the box shows the text without it. */
  readonly onError?: OnError;
}

export function TextArea({ bind, deps = [], disabled, onError, ...rest }: TextAreaProps) {
  const { data, live } = useLive<string, LiveText>(bind, deps);
  const area = useTyping<HTMLTextAreaElement>(live, "shown", onError);
  return <textarea {...rest} ref={area} disabled={disabled === true || data === undefined} />;
}
