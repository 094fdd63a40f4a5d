/** The connection in words. */

import type { ConnectionState } from "@iolite/client";

export interface ConnectionWords {
  readonly title: string;
  readonly detail: string;
  readonly tone: "good" | "waiting" | "off" | "bad";
}

export function connectionWords(state: ConnectionState): ConnectionWords {
  if (state.paused) {
    return { title: "Cut off", detail: "By your own switch. Go on working: it will be sent later.", tone: "off" };
  }
  if (state.role === "waiting") {
    const detail = state.message ?? "Another tab runs another version: reload this one, or close that one.";
    return { title: "Not in use", detail, tone: "bad" };
  }
  switch (state.status) {
    case "online":
      return { title: "Live", detail: "Changes go out, and come in, at once.", tone: "good" };
    case "connecting":
      return { title: "Connecting", detail: "Go on working: it will be sent later.", tone: "waiting" };
    case "offline":
      return { title: "Offline", detail: "Go on working: it will be sent later.", tone: "off" };
    case "refused":
      return { title: "Refused", detail: state.message ?? "The server does not take this page's changes.", tone: "bad" };
  }
}
