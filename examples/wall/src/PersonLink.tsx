/** The way to somebody's wall. Who takes it visits them: a reload of the page is no visit, nor is one's own wall. */

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
