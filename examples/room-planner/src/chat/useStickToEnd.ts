/** Keeps the end of a list in view while one is there, and what one reads in its place while one is further up. */

import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** So near to the end counts as there, in pixels. */
const NEAR = 40;

export function useStickToEnd(list: RefObject<HTMLElement | null>) {
  const [atEnd, setAtEnd] = useState(true);
  const stick = useRef(true);

  const toEnd = useCallback(() => {
    const element = list.current;
    if (element) {
      element.scrollTop = element.scrollHeight;
    }
  }, [list]);

  function onScroll(): void {
    const element = list.current;
    if (element && element.clientHeight > 0) {
      stick.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      setAtEnd(stick.current);
    }
  }

  // The list's own height changes too: a phone's keyboard, a longer list of what is pending.
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) {
      return undefined;
    }
    const observer = new ResizeObserver(() => stick.current && toEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, [list, toEnd]);
  return { atEnd, stick, onScroll, toEnd };
}

/** After every change of the list: follows its end, or makes up for what came in above. */
export function useScrollAfterChange(
  list: RefObject<HTMLElement | null>,
  stick: RefObject<boolean>,
  oldest: string | undefined,
): void {
  const before = useRef({ oldest, height: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) {
      return;
    }
    // Whoever has just scrolled away is not at the end, although the event that says so comes later.
    const wasNear = before.current.height - element.scrollTop - element.clientHeight < NEAR;
    if (stick.current && wasNear) {
      element.scrollTop = element.scrollHeight;
    } else if (before.current.oldest !== oldest) {
      element.scrollTop += element.scrollHeight - before.current.height;
    }
    before.current = { oldest, height: element.scrollHeight };
  });
}
