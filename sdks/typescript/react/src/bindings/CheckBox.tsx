/** A check box that everybody sees and sets. */

import type { LiveScalar, LiveTables } from "@iolite/client";
import type { DependencyList, InputHTMLAttributes } from "react";

import type { RegisteredSchema } from "../register.js";
import { useLive } from "../useLive.js";

export interface CheckBoxProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, "type" | "checked" | "defaultChecked" | "onChange"> {
  /** Which truth: `(live) => live.tasks(id).done`. */
  readonly bind: (live: LiveTables<RegisteredSchema>) => LiveScalar<boolean>;
  /** What `bind` uses from outside. */
  readonly deps?: DependencyList;
}

export function CheckBox({ bind, deps = [], disabled, ...rest }: CheckBoxProps) {
  const { data, live } = useLive<boolean, LiveScalar<boolean>>(bind, deps);
  return (
    <input
      {...rest}
      type="checkbox"
      disabled={disabled === true || data === undefined}
      checked={data ?? false}
      onChange={({ target }) => void live.set(target.checked)}
    />
  );
}
