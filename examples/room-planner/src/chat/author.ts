/** Who writes on this device: an id for good, and a name that may change. */

import { newId } from "@iolite/client";
import { useState } from "react";

const BY = "room-planner.by";
const NAME = "room-planner.name";
const NAMES = ["Heron", "Marten", "Wren", "Otter", "Linnet", "Badger", "Plover", "Hare", "Siskin", "Lynx"];

export interface Author {
  readonly by: string;
  readonly name: string;
}

function kept(key: string, otherwise: () => string): string {
  const value = localStorage.getItem(key) ?? otherwise();
  localStorage.setItem(key, value);
  return value;
}

export function useAuthor(): [Author, (name: string) => void] {
  const [by] = useState(() => kept(BY, newId));
  const [name, setName] = useState(() => kept(NAME, () => NAMES[Math.floor(Math.random() * NAMES.length)] ?? "Guest"));
  function rename(next: string): void {
    localStorage.setItem(NAME, next);
    setName(next);
  }
  return [{ by, name }, rename];
}
