/** A link to somebody's wall. A click on it is a visit. A reload of the page is none, nor is a click on oneself. */

import { useMutation } from "@iolite/react";
import type { ReactNode } from "react";

import { useTown } from "./town";

export function PersonLink({ id, children, current = false }: { id: string; children?: ReactNode; current?: boolean }) {
  const visit = useMutation("visit");
  const { me, nameOf } = useTown();
  return (
    <a href={`#/${encodeURIComponent(id)}`} aria-current={current ? "page" : undefined} onClick={() => id !== me && visit({ id })}>
      {children}
      {nameOf(id)}
    </a>
  );
}
