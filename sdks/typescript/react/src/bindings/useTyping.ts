/** A box that shows a text, and writes into it what is typed. */

import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef } from "react";

import { type LineEnds, ShownText } from "./lineEnds.js";
import type { OnError } from "./onError.js";
import { type Box, type TypedText, Typing } from "./typing.js";

/** React 18 warns of layout effects where it renders for a server. */
const useBoxEffect = typeof document === "undefined" ? useEffect : useLayoutEffect;

/** The caller renders again when the text is another. */
export function useTyping<B extends Box>(text: TypedText, ends: LineEnds, onError: OnError | undefined): RefObject<B | null> {
  const box = useRef<B>(null);
  const typing = useMemo(() => new Typing(new ShownText(text, ends)), [text, ends]);
  useBoxEffect(() => (box.current === null ? undefined : typing.begin(box.current)), [typing]);
  useBoxEffect(() => {
    typing.onError = onError;
    typing.meet();
  });
  return box;
}
