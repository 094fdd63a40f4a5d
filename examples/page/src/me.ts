/** Who uses this device: an id for good, and a name that may change. */

import { newId } from "@iolite/client";
import { useState } from "react";

const ID = "examples.id";
const NAME = "examples.name";
const NAMES = ["Heron", "Marten", "Wren", "Otter", "Linnet", "Badger", "Plover", "Hare", "Siskin", "Lynx"];

export interface Me {
  readonly id: string;
  readonly name: string;
}

function kept(key: string, otherwise: () => string): string {
  const value = localStorage.getItem(key) ?? otherwise();
  localStorage.setItem(key, value);
  return value;
}

/** The id, by which rights and rows name this person. */
export function myId(): string {
  return kept(ID, newId);
}

export function useMe(): readonly [Me, (name: string) => void] {
  const [id] = useState(myId);
  const [name, setName] = useState(() => kept(NAME, () => NAMES[Math.floor(Math.random() * NAMES.length)] ?? "Guest"));
  function rename(next: string): void {
    localStorage.setItem(NAME, next);
    setName(next);
  }
  return [{ id, name }, rename];
}
