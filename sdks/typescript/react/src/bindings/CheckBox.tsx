/** A check box that everybody sees and sets. */

import type { LiveScalar, LiveTables } from "@iolite/client";
import type { DependencyList, InputHTMLAttributes } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";
import { type OnError, tell } from "./onError.js";

export interface CheckBoxProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, "type" | "checked" | "defaultChecked" | "onChange" | "onError"> {
  /** Which truth: `(live) => live.tasks(id).done`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveScalar<boolean>;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
  /** Hears why it cannot be set, at once or when that was refused later. */
  readonly onError?: OnError;
}

export function CheckBox({ bind, deps = [], disabled, onError, ...rest }: CheckBoxProps) {
  const { data, live } = useLive<boolean, LiveScalar<boolean>>(bind, deps);
  return (
    <input
      {...rest}
      type="checkbox"
      disabled={disabled === true || data === undefined}
      checked={data ?? false}
      onChange={({ target }) => tell(onError, () => live.set(target.checked))}
    />
  );
}
