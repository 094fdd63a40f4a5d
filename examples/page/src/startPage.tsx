/** Starts a page: opens its client, and renders the app under it. */

import type { Mutators, Schema } from "@iolite/client";
import { IoliteProvider, type RegisteredClient } from "@iolite/react";
import { type ComponentType, StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Notice } from "./Notice";
import { openClient } from "./openClient";
import { registerServiceWorker } from "./registerServiceWorker";

export interface PageOptions {
  /** Signs the person in under their id, for an app with rights. A development server takes it at its word. */
  readonly as?: { readonly sub: string };
}

export function startPage<S extends Schema, M>(name: string, mutators: Mutators<S, M>, App: ComponentType, options: PageOptions = {}): void {
  const root = createRoot(document.getElementById("root") as HTMLElement);
  registerServiceWorker();
  openClient({ name, schema: mutators.schema, mutators, ...options }).then(
    (client) =>
      root.render(
        <StrictMode>
          <IoliteProvider client={client as unknown as RegisteredClient}>
            <App />
          </IoliteProvider>
        </StrictMode>,
      ),
    (error: unknown) =>
      root.render(<Notice title="The page cannot start" text={error instanceof Error ? error.message : String(error)} />),
  );
}
