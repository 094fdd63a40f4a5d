/** Keeps the end of a list in view while one is there, and leaves the list alone while one reads further up. */

import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** So near to the end counts as there, in pixels. */
const NEAR = 40;

export function useStickToEnd(list: RefObject<HTMLElement | null>, newest: string | undefined) {
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

  useLayoutEffect(() => {
    if (stick.current) {
      toEnd();
    }
  }, [newest, toEnd]);
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
  return { atEnd, onScroll, toEnd };
}
