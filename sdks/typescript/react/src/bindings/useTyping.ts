/** A box that shows a text, and writes into it what is typed. */

import { type RefObject, useMemo, useRef } from "react";

import { usePageEffect } from "../usePageEffect.js";
import { type LineEnds, ShownText } from "./lineEnds.js";
import type { OnError } from "./onError.js";
import { type Box, type TypedText, Typing } from "./typing.js";

/** The caller renders again when the text is another. */
export function useTyping<B extends Box>(text: TypedText, ends: LineEnds, onError: OnError | undefined): RefObject<B | null> {
  const box = useRef<B>(null);
  const typing = useMemo(() => new Typing(new ShownText(text, ends)), [text, ends]);
  usePageEffect(() => (box.current === null ? undefined : typing.begin(box.current)), [typing]);
  usePageEffect(() => {
    typing.onError = onError;
    typing.meet();
  });
  return box;
}
