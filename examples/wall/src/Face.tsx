/** A person, as the first letter of the name in a colour of its own. */

import type { CSSProperties } from "react";

export function Face({ name }: { name: string }) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  return (
    <span className="face" style={{ "--hue": hue } as CSSProperties} aria-hidden="true">
      {name[0]?.toUpperCase()}
    </span>
  );
}
