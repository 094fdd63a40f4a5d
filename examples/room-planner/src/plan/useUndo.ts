/** The way back for one's own last actions: each is another mutation, so it can be refused like any other. */

import { useState } from "react";

const REMEMBERED = 50;

export function useUndo() {
  const [steps, setSteps] = useState<readonly (() => void)[]>([]);
  return {
    canUndo: steps.length > 0,
    remember: (step: () => void): void => setSteps((all) => [...all.slice(1 - REMEMBERED), step]),
    undo: (): void => {
      steps.at(-1)?.();
      setSteps((all) => all.slice(0, -1));
    },
  };
}
