/** Errors of calls, in words for players. */

import { CallError } from "@iolite/objects";

export const UNREACHABLE = "The game cannot be reached at the moment.";

export function problemOf(error: unknown): string {
  if (error instanceof CallError && error.reason === "unreachable") return UNREACHABLE;
  if (error instanceof CallError && error.kind === "gone") return "This game is gone: the device that had it has left. Begin a new one.";
  if (error instanceof CallError && error.ran === "unknown") return "The network went away in the middle. Look whether your word was played.";
  return error instanceof Error ? error.message : String(error);
}
