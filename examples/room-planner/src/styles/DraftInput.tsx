/** A field that is written when one leaves it or presses Enter, not at every letter; Escape takes back what was typed. */

import { useState } from "react";

interface DraftInputProps {
  readonly label: string;
  readonly value: string;
  readonly maxLength: number;
  readonly className?: string;
  readonly inputMode?: "text" | "numeric" | "decimal";
  /** Called with trimmed text that is not empty and not the old value. */
  readonly onCommit: (value: string) => void;
}

export function DraftInput({ label, value, onCommit, ...rest }: DraftInputProps) {
  const [draft, setDraft] = useState<string | null>(null);
  function commit(): void {
    const text = draft?.trim() ?? "";
    if (text !== "" && text !== value) {
      onCommit(text);
    }
    setDraft(null);
  }
  return (
    <input
      {...rest}
      aria-label={label}
      value={draft ?? value}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") {
          event.currentTarget.blur();
        } else if (event.key === "Escape") {
          setDraft(null);
        }
      }}
    />
  );
}
