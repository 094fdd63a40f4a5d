/** A text box that everybody types into: what it shows is the shared text, and what is typed is written at once. */

import type { LiveScalar, LiveTables } from "@iolite/client";
import { type DependencyList, type InputHTMLAttributes, useEffect, useState } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import { type OnError, tell } from "./onError.js";

export interface TextBoxProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "defaultValue" | "onChange" | "onError"> {
  /** Which text: `(live) => live.notes(id).title`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveScalar<string>;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  /** Hears why something that was typed cannot be written, such as a text that is too long; the box shows what it did before. */
  readonly onError?: OnError;
}

export function TextBox({ bind, deps = [], disabled, onBlur, onError, ...rest }: TextBoxProps) {
  const { data, live } = useLive<string, LiveScalar<string>>(bind, deps);
  // What was typed shows until the shared text is that: in a tab that follows it takes some milliseconds.
  const [typed, setTyped] = useState<string>();
  useEffect(() => setTyped((own) => (own === data ? undefined : own)), [data]);
  return (
    <input
      {...rest}
      disabled={disabled === true || data === undefined}
      value={typed ?? data ?? ""}
      onChange={({ target: { value } }) =>
        tell(onError, () => {
          live.set(value);
          setTyped(value);
        })
      }
      onBlur={(event) => {
        setTyped(undefined);
        onBlur?.(event);
      }}
    />
  );
}
