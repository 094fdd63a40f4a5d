/** A page for React in Node. Import it before `react-dom`. */

import { Window } from "happy-dom";

const window = new Window();

const globals = { window, document: window.document, navigator: window.navigator, IS_REACT_ACT_ENVIRONMENT: true };
for (const [name, value] of Object.entries(globals)) {
  // Newer versions of Node have a navigator that cannot be assigned.
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/** An event of the page's own kind. */
export function event(name: string): Event {
  return new window.Event(name, { bubbles: true }) as unknown as Event;
}

/** An element of the page to render into. */
export function container(): HTMLElement {
  const element = window.document.createElement("div");
  window.document.body.appendChild(element);
  return element as unknown as HTMLElement;
}
