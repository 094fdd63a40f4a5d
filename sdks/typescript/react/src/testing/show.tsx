/** What is shown to a user who types. */

import { container, event } from "./page.js";

import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";

import { IoliteProvider } from "../index.js";
import { FakeClient } from "./fakeClient.js";

/** Shows something, and hands over the page that shows it. */
export async function show(children: ReactNode, live: unknown = {}) {
  const page = container();
  const root = createRoot(page);
  const client = Object.assign(new FakeClient(), { live });
  const render = (shown: ReactNode) =>
    act(async () => root.render(<IoliteProvider client={client.asClient}>{shown}</IoliteProvider>));
  await render(children);
  return { page, render, end: () => act(async () => root.unmount()) };
}

/** Types into a box: it holds this text then, with the caret at its end if not said otherwise. */
export async function type(box: HTMLInputElement | HTMLTextAreaElement, text: string, caret = text.length): Promise<void> {
  await act(async () => {
    // As React hears of what a user types.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), "value")?.set?.call(box, text);
    box.setSelectionRange(caret, caret);
    box.dispatchEvent(event("input"));
  });
}

/** An input method composes in a box: what it holds meanwhile is for that to replace. */
export function compose(box: HTMLInputElement | HTMLTextAreaElement, stage: "start" | "end"): Promise<void> {
  return act(async () => void box.dispatchEvent(event(`composition${stage}`)));
}
