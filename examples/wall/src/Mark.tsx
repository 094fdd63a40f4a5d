/** The mark beside what was changed: how far the change has got. */

import type { Progress } from "./progress";

const WORDS: Readonly<Record<Progress, string>> = {
  here: "on this device",
  sent: "sent",
  stored: "in one data centre",
  confirmed: "confirmed",
};

export function Mark({ progress }: { progress: Progress }) {
  return (
    <span className="mark" data-mark={progress} title={WORDS[progress]}>
      <span className={progress === "confirmed" ? "unseen" : undefined}>{WORDS[progress]}</span>
    </span>
  );
}
