/** A box that shows a text, and writes into it what is typed. */

import { type RefObject, useLayoutEffect, useMemo, useRef } from "react";

import type { OnError } from "./onError.js";
import { type Box, type TypedText, Typing } from "./typing.js";

/** The caller renders again when the text is another. */
export function useTyping<B extends Box>(text: TypedText, onError: OnError | undefined): RefObject<B | null> {
  const box = useRef<B>(null);
  const typing = useMemo(() => new Typing(text), [text]);
  useLayoutEffect(() => (box.current === null ? undefined : typing.begin(box.current)), [typing]);
  useLayoutEffect(() => {
    typing.onError = onError;
    typing.meet();
  });
  return box;
}
