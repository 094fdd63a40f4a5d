/** Hands the client to the hooks below it. */

import { createContext, type ReactElement, type ReactNode, useContext } from "react";

import type { RegisteredClient } from "./register.js";

const ClientContext = createContext<RegisteredClient | undefined>(undefined);

export interface IoliteProviderProps {
  readonly client: RegisteredClient;
  readonly children?: ReactNode;
}

export function IoliteProvider({ client, children }: IoliteProviderProps): ReactElement {
  // React 18 knows no shorter form.
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
}

/** The client of the nearest `IoliteProvider`. */
export function useClient(): RegisteredClient {
  const client = useContext(ClientContext);
  if (client === undefined) {
    throw new Error("there is no IoliteProvider above this component");
  }
  return client;
}
