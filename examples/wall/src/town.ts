/** The knowledge that all parts of the page share: who uses it, who else is here, and how far changes have got. */

import { createContext, useContext } from "react";

import type { Person } from "./model";
import type { Progress } from "./progress";

export interface Town {
  readonly me: string;
  readonly people: readonly Person[];
  progress(subject: string): Progress;
}

export const TownContext = createContext<Town | undefined>(undefined);

export function useTown(): Town & { readonly nameOf: (id: string) => string } {
  const town = useContext(TownContext);
  if (town === undefined) {
    throw new Error("there is no town around this part of the page");
  }
  return { ...town, nameOf: (id) => town.people.find((person) => person.id === id)?.name ?? id };
}
