/** Hands the client to the hooks below it. */

import { createContext, type ReactElement, type ReactNode, useContext } from "react";

import type { RegisteredClient } from "./register.js";

/** Null: there is no provider. */
const ClientContext = createContext<RegisteredClient | undefined | null>(null);

export interface IoliteProviderProps {
  /** Undefined on a server that renders the page, and in the page until the client is opened: the hooks then say that data is on its way. */
  readonly client: RegisteredClient | undefined;
  readonly children?: ReactNode;
}

export function IoliteProvider({ client, children }: IoliteProviderProps): ReactElement {
  // React 18 knows no shorter form.
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
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
