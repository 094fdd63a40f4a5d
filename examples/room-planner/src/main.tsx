/** Starts the page. */

import { IoliteProvider } from "@iolite/react";
import { Notice, registerServiceWorker } from "examples-page";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { openClient } from "./iolite";
import "./styles/index.css";

const container = document.getElementById("root");
if (container === null) {
  throw new Error("index.html has no element #root");
}
const root = createRoot(container);

registerServiceWorker();
openClient().then(
  (client) =>
    root.render(
      <StrictMode>
        <IoliteProvider client={client}>
          <App />
        </IoliteProvider>
      </StrictMode>,
    ),
  (error: unknown) =>
    root.render(<Notice title="The planner cannot start" text={error instanceof Error ? error.message : String(error)} />),
);
