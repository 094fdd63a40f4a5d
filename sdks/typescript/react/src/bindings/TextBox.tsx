/** A text box that everybody types into: what it shows is the shared text, and what is typed is written at once. Of a text with line ends it shows the one line without them. */

import type { LiveScalar, LiveTables } from "@iolite/client";
import { type DependencyList, type InputHTMLAttributes, useMemo } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import type { OnError } from "./onError.js";
import { useTyping } from "./useTyping.js";
import { WholeText } from "./wholeText.js";

export interface TextBoxProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "defaultValue" | "onChange" | "onError"> {
  /** Which text: `(live) => live.notes(id).title`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveScalar<string>;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  /** Hears why something that was typed cannot be written, such as a text that is too long, or was refused later; the box shows the shared text again. */
  readonly onError?: OnError;
}

export function TextBox({ bind, deps = [], disabled, onError, ...rest }: TextBoxProps) {
  const { data, live } = useLive<string, LiveScalar<string>>(bind, deps);
  const text = useMemo(() => new WholeText(live), [live]);
  const box = useTyping<HTMLInputElement>(text, "hidden", onError);
  return <input {...rest} ref={box} disabled={disabled === true || data === undefined} />;
}
