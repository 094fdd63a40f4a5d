/**
 * Hands the client to the hooks below it.
 *
 * Invariant: what a handler of an input event writes shows before the event is over. React puts the old text back into a controlled box otherwise, and the caret
 * goes to its end.
 */

import { createContext, type ReactElement, type ReactNode, useContext, useEffect, useReducer } from "react";

import type { RegisteredClient } from "./register.js";
import { usePageEffect } from "./usePageEffect.js";

/** Null: there is no provider. */
const ClientContext = createContext<RegisteredClient | undefined | null>(null);

export interface IoliteProviderProps {
  /** Undefined on a server that renders the page, and in the page until the client is opened: the hooks then say that data is on its way. */
  readonly client: RegisteredClient | undefined;
  readonly children?: ReactNode;
}

export function IoliteProvider({ client, children }: IoliteProviderProps): ReactElement {
  useEventsOfBoxes(client);
  // React 18 knows no shorter form.
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
}

/** React renders this again when such an event is handled, before it looks at the boxes: the reactions run then, once for all that the handler called. */
function useEventsOfBoxes(client: RegisteredClient | undefined): void {
  const [number, count] = useReducer((before: number) => before + 1, 0);
  useEffect(() => client?.onPendingChange(() => isOfBox(globalThis.event) && count()), [client]);
  usePageEffect(() => {
    if (number > 0) {
      void client?.settled();
    }
  }, [number]);
}

function isOfBox(event: Event | undefined): boolean {
  switch (event?.type) {
    case "input":
    case "change":
      return true;
    case "click":
      return (event.target as Element | null)?.localName === "input";
    default:
      return false;
  }
}

/** The client of the nearest `IoliteProvider`. It throws where that has none. */
export function useClient(): RegisteredClient {
  const client = useClientIfAny();
  if (client === undefined) {
    throw noClient();
  }
  return client;
}

/** The same, or undefined where the nearest `IoliteProvider` has none. */
export function useClientIfAny(): RegisteredClient | undefined {
  const client = useContext(ClientContext);
  if (client === null) {
    throw new Error("there is no IoliteProvider above this component");
  }
  return client;
}

export function noClient(): Error {
  return new Error("the IoliteProvider above this component has no client: there is none on a server, nor in a page before createClient has resolved");
}
